package federation

import (
	"strings"
	"unicode/utf8"
)

// Text is for people: it goes into status and logs of the other side, so it is UTF-8 of at most MaxShortString bytes
// without what moves a cursor or turns a line around. A writer puts U+FFFD in the place of the rest and cuts at the end
// of a character; a reader refuses it: ErrCorrupt. The set is closed, and does not grow with a version of Unicode.

// hidden tells whether a character has no place in a text: controls (C0, DEL, C1), separators of lines and paragraphs,
// marks of direction.
func hidden(c rune) bool {
	switch {
	case c < 0x20, 0x7F <= c && c <= 0x9F, c == 0x2028, c == 0x2029:
		return true
	case c == 0x061C, c == 0x200E, c == 0x200F, 0x202A <= c && c <= 0x202E, 0x2066 <= c && c <= 0x2069:
		return true
	}
	return false
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, hidden) }

// clean makes a text of words that come from anywhere.
func clean(s string) string {
	if isText(s) {
		return s
	}
	return strings.Map(func(c rune) rune {
		if hidden(c) {
			return utf8.RuneError
		}
		return c // of bytes that are no UTF-8 it is U+FFFD
	}, s)
}

// text writes words for people.
func (w *writer) text(s string) {
	s = clean(s)
	for len(s) > MaxShortString {
		cut := MaxShortString
		for cut > 0 && s[cut]&0xC0 == 0x80 {
			cut--
		}
		s = s[:cut]
	}
	w.short(s)
}

func (r *reader) text() string {
	s := string(r.short())
	r.refuse(!isText(s), "%q is not text", s)
	return s
}
