package embedded

import (
	"bufio"
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func FuzzFrames(f *testing.F) {
	f.Add(appendMethodFrame(nil, 1, basicAck, []byte{0, 0, 0, 0, 0, 0, 0, 1, 0}))
	f.Add(appendContentFrames(nil, 1, minFrameMax, []byte{0, 0}, bytes.Repeat([]byte("x"), 5000)))
	f.Add([]byte{1, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := frameReader{in: bufio.NewReader(bytes.NewReader(raw)), max: minFrameMax}
		var again []byte
		for {
			start, err := r.head()
			if err != nil {
				break
			}
			payload := make([]byte, start.size)
			if err := r.payload(start, payload); err != nil {
				break
			}
			again = endFrame(append(beginFrame(again, start.kind, start.channel), payload...), len(again))
		}
		if !bytes.HasPrefix(raw, again) {
			t.Errorf("frames of %x encode as %x", raw, again)
		}
	})
}

func FuzzTable(f *testing.F) {
	f.Add(parseTableText(`{t=t:true b=b:-3 s=s:-300 I=I:-70000 l=l:9 f=f:1.5 d=d:2.25 D=hex:440200000064 S=S:"x" V=V A=A[I:1 A[] F{}] F=F{n=F{m=I:1}}}`).appendContent(nil))
	f.Add([]byte("\x01aA\xff\xff\xff\xff"))
	f.Add(deepTable(maxTableDepth + 2))
	f.Fuzz(func(t *testing.T, raw []byte) {
		fields, ok := parseTable(raw)
		if ok != validTable(raw, 0) {
			t.Errorf("parse says %v, valid says %v", ok, !ok)
		}
		if !ok {
			return
		}
		if again := fields.appendContent(nil); !bytes.Equal(raw, again) {
			t.Errorf("%x encodes as %x", raw, again)
		}
		for _, field := range fields {
			readEveryWay(t, field.value)
		}
	})
}

// deepTable is tables within tables.
func deepTable(depth int) []byte {
	content := []byte{}
	for range depth {
		content = table{{"a", appendLongString(value{'F'}, content)}}.appendContent(nil)
	}
	return content
}

func readEveryWay(t *testing.T, v value) {
	v.text()
	v.integer()
	v.float()
	v.boolean()
	v.typeName()
	v.printed()
	if !v.equal(v) || !v.sameAs(v) {
		t.Errorf("%x is not itself", v)
	}
	if fields, ok := v.table(); ok {
		newHeadersRule(fields).matches(fields)
		cyclic("a", []value{v})
	}
	elements, _ := v.array()
	for _, e := range elements {
		readEveryWay(t, e)
	}
}

func FuzzProperties(f *testing.F) {
	f.Add([]byte{0, 0})
	f.Add([]byte{0xff, 0xfe})
	f.Add([]byte("\xa0\x00\x01a\x00\x00\x00\x04\x01at\x01"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, ok := scanProperties(raw)
		if !ok {
			return
		}
		for which := property(0); which < propCount; which++ {
			span := p.span(which)
			if len(span) == 0 {
				span = nil
			}
			if same := p.replace(which, span); !bytes.Equal(same.raw, raw) {
				t.Errorf("property %d of %x put back gives %x", which, raw, same.raw)
			}
			if less := p.replace(which, nil); less.has(which) {
				t.Errorf("property %d of %x is still there", which, raw)
			}
		}
		p.headers()
		p.header("CC")
		checkExpiration(p.text(propExpiration))
	})
}

// Any method with any arguments is answered or ends the connection, and the books stay right.
func FuzzMethod(f *testing.F) {
	for id, form := range methodForms {
		f.Add(uint32(id), make([]byte, 2*len(form)))
	}
	f.Add(uint32(queueDeclare), []byte("\x00\x00\x01q\x02\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, id uint32, args []byte) {
		if len(args) > 4000 {
			t.Skip()
		}
		before := appendMethodFrame(nil, 1, queueDeclare, []byte("\x00\x00\x01q\x00\x00\x00\x00\x00"))
		before = append(before, encodePublish(1, []string{`""`, "q", "body"})...)
		raw := appendMethodFrame(before, 1, methodID(id), args)
		synctest.Test(t, func(t *testing.T) { converse(t, raw) })
	})
}

// A client may send whatever it likes after its handshake: the broker answers or hangs up, keeps its books, and nothing is
// left of the conversation. The seeds are the conformance scripts.
func FuzzConversation(f *testing.F) {
	for _, seed := range conversations(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		synctest.Test(t, func(t *testing.T) { converse(t, raw) })
	})
}

func converse(t *testing.T, raw []byte) {
	b := New(Config{Limits: Limits{MessageBytes: 1 << 16, MemoryBytes: 1 << 20}})
	conn := pipe(t.Context(), b)
	p := newPeer("a", conn)
	greet(p, usualClient())
	p.method(1, channelOpen, []byte{0})
	p.send(raw)
	synctest.Wait()
	checkInvariants(t, b)
	time.Sleep(time.Minute) // what expires, expires
	checkInvariants(t, b)
	p.hangUp()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
	synctest.Wait()
	checkEmpty(t, b)
}

// conversations are the scripts that need one connection, as the bytes that they send.
func conversations(f *testing.F) [][]byte {
	files, err := filepath.Glob("testdata/conformance/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	var all [][]byte
	for _, file := range files {
		for _, s := range readScripts(f, file) {
			if raw, ok := s.conversation(); ok {
				all = append(all, raw)
			}
		}
	}
	return all
}

func (s *script) conversation() (raw []byte, ok bool) {
	for _, b := range s.blocks[1:] {
		words := splitWords(b.command)
		if words[0] != "a1" || strings.Contains(b.command, "#") {
			return nil, false
		}
		switch words[1] {
		case "publish":
			raw = append(raw, encodePublish(1, withoutTimes(words[2:]))...)
		case "method", "frame":
		default:
			id, args := encodeMethod(words[1], words[2:])
			raw = appendMethodFrame(raw, 1, id, args)
		}
	}
	return raw, len(raw) < 4096
}

// withoutTimes drops a last word xN.
func withoutTimes(words []string) []string {
	if last := words[len(words)-1]; len(words) > 3 && strings.HasPrefix(last, "x") {
		return words[:len(words)-1]
	}
	return words
}
