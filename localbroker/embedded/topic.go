package embedded

import "strings"

// topicWords splits a key or pattern at its dots. The empty key has no word.
func topicWords(key string) []string {
	if key == "" {
		return nil
	}
	return strings.Split(key, ".")
}

// topicMatch reports whether a key's words match a pattern's, where * stands for one word and # for any number of them.
// When a word fails it goes back to the last # alone, which is enough, and bounds the work to len(pattern) ×
// len(words).
func topicMatch(pattern, words []string) bool {
	p, w := 0, 0
	hash, resume := -1, 0
	for w < len(words) {
		switch {
		case p < len(pattern) && pattern[p] == "#":
			hash, resume = p, w
			p++
		case p < len(pattern) && (pattern[p] == "*" || pattern[p] == words[w]):
			p++
			w++
		case hash >= 0:
			resume++
			p, w = hash+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "#" {
		p++
	}
	return p == len(pattern)
}
