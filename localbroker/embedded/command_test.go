package embedded

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// splitWords splits a command at spaces, but not inside quotes, braces and brackets.
func splitWords(s string) []string {
	var words []string
	depth, quoted, start := 0, false, -1
	for i := 0; i <= len(s); i++ {
		end := i == len(s) || s[i] == ' ' && depth == 0 && !quoted
		switch {
		case end && start >= 0:
			words = append(words, s[start:i])
			start = -1
		case end:
		default:
			if start < 0 {
				start = i
			}
			switch {
			case s[i] == '"' && (i == 0 || s[i-1] != '\\'):
				quoted = !quoted
			case !quoted && (s[i] == '{' || s[i] == '['):
				depth++
			case !quoted && (s[i] == '}' || s[i] == ']'):
				depth--
			}
		}
	}
	return words
}

// unquoted is a word, or what its quotes hold.
func unquoted(word string) string {
	if strings.HasPrefix(word, `"`) {
		text, err := strconv.Unquote(word)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", word, err))
		}
		return text
	}
	return word
}

// parseTableText reads {name=value …}.
func parseTableText(s string) table {
	t := table{}
	for _, word := range splitWords(s[1 : len(s)-1]) {
		name, v, _ := strings.Cut(word, "=")
		t = append(t, field{name, parseValueText(v)})
	}
	return t
}

// parseValueText reads a value as shownValue prints it: a type letter, a colon and the value; V, F{…} and A[…]; or hex:….
func parseValueText(s string) value {
	if rest, ok := strings.CutPrefix(s, "hex:"); ok {
		return must(hex.DecodeString(rest))
	}
	if s == "V" {
		return value{'V'}
	}
	if strings.HasPrefix(s, "F{") {
		return tableValue(parseTableText(s[1:]))
	}
	if strings.HasPrefix(s, "A[") {
		var elements []value
		for _, word := range splitWords(s[2 : len(s)-1]) {
			elements = append(elements, parseValueText(word))
		}
		return arrayValue(elements)
	}
	kind, text, ok := strings.Cut(s, ":")
	if !ok || len(kind) != 1 {
		panic("no value: " + s)
	}
	return scalarValue(kind[0], unquoted(text))
}

func scalarValue(kind byte, text string) value {
	v := value{kind}
	switch kind {
	case 'S', 'x':
		return appendLongString(v, text)
	case 't':
		return appendBool(v, text == "true")
	case 'f':
		return binary.BigEndian.AppendUint32(v, math.Float32bits(float32(must(strconv.ParseFloat(text, 32)))))
	case 'd':
		return binary.BigEndian.AppendUint64(v, math.Float64bits(must(strconv.ParseFloat(text, 64))))
	}
	n := must(strconv.ParseInt(text, 10, 64))
	switch kind {
	case 'b', 'B':
		return append(v, byte(n))
	case 's', 'u':
		return binary.BigEndian.AppendUint16(v, uint16(n))
	case 'I', 'i':
		return binary.BigEndian.AppendUint32(v, uint32(n))
	}
	return binary.BigEndian.AppendUint64(v, uint64(n))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// methodFlags are the bits of a method's flags, by the names that commands use.
var methodFlags = map[methodID][]string{
	exchangeDeclare: {"passive", "durable", "auto-delete", "internal", "no-wait"},
	exchangeDelete:  {"if-unused", "no-wait"},
	exchangeBind:    {"no-wait"}, exchangeUnbind: {"no-wait"},
	queueDeclare: {"passive", "durable", "exclusive", "auto-delete", "no-wait"},
	queueBind:    {"no-wait"}, queuePurge: {"no-wait"}, queueDelete: {"if-unused", "if-empty", "no-wait"},
	basicQos: {"global"}, basicConsume: {"no-local", "no-ack", "exclusive", "no-wait"}, basicCancel: {"no-wait"},
	basicGet: {"no-ack"}, basicAck: {"multiple"}, basicReject: {"requeue"}, basicNack: {"multiple", "requeue"},
	basicRecover: {"requeue"}, basicRecoverAsync: {"requeue"}, confirmSelect: {"no-wait"}, channelFlow: {"active"},
	accessRequest: {"exclusive", "passive", "active", "write", "read"},
}

// encodeMethod makes a method of a command's words: the arguments in order, and flags and a table anywhere.
func encodeMethod(name string, words []string) (methodID, []byte) {
	id := methodByName(name)
	flags, t := byte(0), table(nil)
	var rest []string
	for _, w := range words {
		bit := indexOf(methodFlags[id], w)
		switch {
		case bit >= 0:
			flags |= 1 << bit
		case strings.HasPrefix(w, "{"):
			t = parseTableText(w)
		default:
			rest = append(rest, unquoted(w))
		}
	}
	next := func() string {
		if len(rest) == 0 {
			return ""
		}
		w := rest[0]
		rest = rest[1:]
		return w
	}
	number := func() uint64 { n, _ := strconv.ParseUint(next(), 10, 64); return n }
	var b []byte
	for i, kind := range methodForms[id] {
		switch kind {
		case 'o':
			b = append(b, flags)
		case 's':
			if i == 0 && id != channelClose {
				b = appendShort(b, 0) // the reserved ticket
			} else {
				b = appendShort(b, uint16(number()))
			}
		case 'l':
			b = appendLong(b, uint32(number()))
		case 'L':
			b = appendLonglong(b, number())
		case 'n':
			b = appendShortString(b, next())
		case 'T':
			b = append(b, t.encode()...)
		}
	}
	return id, b
}

func methodByName(name string) methodID {
	for id, n := range methodNames {
		if n == name {
			return id
		}
	}
	panic("no method " + name)
}

func indexOf(list []string, s string) int {
	for i, v := range list {
		if v == s {
			return i
		}
	}
	return -1
}

// encodePublish makes the frames of "publish exchange key body [mandatory] [immediate] [property=value …]".
func encodePublish(channel uint16, words []string) []byte {
	flags := byte(0)
	props := properties{raw: []byte{0, 0}, starts: [propCount + 1]uint32{}}
	for i := range props.starts {
		props.starts[i] = 2
	}
	raw := []byte(nil)
	for _, w := range words[3:] {
		name, v, _ := strings.Cut(w, "=")
		switch name {
		case "mandatory":
			flags |= 1
		case "immediate":
			flags |= 2
		case "raw-properties":
			raw = must(hex.DecodeString(v))
		default:
			which := property(indexOf(propertyNames[:], name))
			props = props.replace(which, encodeProperty(which, v))
		}
	}
	if raw == nil {
		raw = props.raw
	}
	args := appendShort(nil, 0)
	args = appendShortString(args, unquoted(words[0]))
	args = appendShortString(args, unquoted(words[1]))
	b := appendMethodFrame(nil, channel, basicPublish, append(args, flags))
	return appendContentFrames(b, channel, 131072, raw, []byte(bodyText(words[2])))
}

// bodyText is the body, or "zeros:N" for a long one.
func bodyText(word string) string {
	if n, ok := strings.CutPrefix(word, "zeros:"); ok {
		return strings.Repeat("0", must(strconv.Atoi(n)))
	}
	return unquoted(word)
}

func encodeProperty(which property, text string) []byte {
	switch which {
	case propHeaders:
		return parseTableText(text).encode()
	case propDeliveryMode, propPriority:
		return []byte{byte(must(strconv.Atoi(text)))}
	case propTimestamp:
		return appendLonglong(nil, must(strconv.ParseUint(text, 10, 64)))
	}
	return appendShortString(nil, unquoted(text))
}

// do carries out one command of a script.
func (r *runner) do(command string) {
	r.t.Helper()
	words := splitWords(r.alias.expand(command))
	if words[0] == "wait" {
		time.Sleep(must(time.ParseDuration(words[1])))
		return
	}
	name, channel := words[0], uint16(0)
	if digits := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz"); digits != "" {
		channel = uint16(must(strconv.Atoi(digits)))
		name = strings.TrimSuffix(name, digits)
	}
	p := r.peers[name]
	switch words[1] {
	case "connect":
		r.connect(name, words[2:])
	case "open":
		r.open(name, words[2:])
	case "drop":
		p.hangUp()
	case "bytes":
		p.send(must(hex.DecodeString(words[2])))
	case "method":
		p.send(frameOf(frameMethod, channel, must(hex.DecodeString(words[2]))))
	case "frame":
		p.send(frameOf(byte(must(strconv.Atoi(words[2]))), channel, must(hex.DecodeString(unquoted(words[3])))))
	case "publish":
		r.publish(p, channel, words[2:])
	default:
		id, args := encodeMethod(words[1], words[2:])
		r.names.note(id, words)
		p.method(channel, id, args)
		if !unanswered[id] && indexOf(words, "no-wait") < 0 {
			r.waitFor(func() bool { return p.spoke(channel) })
		}
	}
}

// unanswered methods get no reply when all is well.
var unanswered = map[methodID]bool{basicAck: true, basicReject: true, basicNack: true, basicRecoverAsync: true, channelCloseOK: true}

func frameOf(kind byte, channel uint16, payload []byte) []byte {
	return endFrame(append(beginFrame(nil, kind, channel), payload...), 0)
}

// publish sends a message, or with a last word xN as many, with %d in the body for their number.
func (r *runner) publish(p *peer, channel uint16, words []string) {
	last := words[len(words)-1]
	times, err := strconv.Atoi(strings.TrimPrefix(last, "x"))
	if !strings.HasPrefix(last, "x") || err != nil {
		p.send(encodePublish(channel, words))
		return
	}
	for i := 1; i <= times; i++ {
		one := append([]string(nil), words[:len(words)-1]...)
		one[2] = strings.ReplaceAll(one[2], "%d", strconv.Itoa(i))
		p.send(encodePublish(channel, one))
	}
}
