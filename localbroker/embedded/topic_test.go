package embedded

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// topicOracle is the definition, and takes exponential time.
func topicOracle(pattern, words []string) bool {
	if len(pattern) == 0 {
		return len(words) == 0
	}
	if pattern[0] == "#" {
		return topicOracle(pattern[1:], words) || len(words) > 0 && topicOracle(pattern, words[1:])
	}
	return len(words) > 0 && (pattern[0] == "*" || pattern[0] == words[0]) && topicOracle(pattern[1:], words[1:])
}

func TestTopicMatchAgreesWithItsDefinition(t *testing.T) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", ""}), 0, 7)
	patterns := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "", "*", "#"}), 0, 7)
	rapid.Check(t, func(t *rapid.T) {
		key, pattern := words.Draw(t, "key"), patterns.Draw(t, "pattern")
		if got, want := topicMatch(pattern, key), topicOracle(pattern, key); got != want {
			t.Errorf("%q matches %q: %v, want %v", strings.Join(key, "."), strings.Join(pattern, "."), got, want)
		}
	})
}

func TestTopicMatchTakesNoExponentialTime(t *testing.T) {
	pattern := topicWords(strings.Repeat("#.a.", 60) + "b")
	words := topicWords(strings.TrimSuffix(strings.Repeat("a.", 120), "."))
	if topicMatch(pattern, words) {
		t.Error("matches")
	}
}
