package amqpwire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPublishIsAMethodAHeaderAndBodies(t *testing.T) {
	c := Content{Exchange: "ex", Key: "key", Mandatory: true, Properties: []byte{0x10, 0, 2}, Body: []byte("hello")}
	got := AppendPublish([]byte("before"), 258, 0, &c)
	want := "before" +
		"\x01\x01\x02\x00\x00\x00\x0e\x00\x3c\x00\x28\x00\x00\x02ex\x03key\x01\xce" +
		"\x02\x01\x02\x00\x00\x00\x0f\x00\x3c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05\x10\x00\x02\xce" +
		"\x03\x01\x02\x00\x00\x00\x05hello\xce"
	if string(got) != want {
		t.Fatalf("got  %q\nwant %q", got, want)
	}
}

func TestBodyIsCutIntoFrames(t *testing.T) {
	c := Content{Properties: []byte{0, 0}, Body: []byte(strings.Repeat("x", 10000))}
	rest := AppendPublish(nil, 1, 4096, &c)
	var sizes []int
	for len(rest) > 0 {
		head := ParseHead(rest)
		if rest[FrameHead+head.Size] != FrameEnd {
			t.Fatal("no frame end")
		}
		if head.Type == FrameBody {
			sizes = append(sizes, int(head.Size))
		}
		rest = rest[FrameOverhead+head.Size:]
	}
	if diff := cmp.Diff([]int{4088, 4088, 1824}, sizes); diff != "" {
		t.Fatal(diff)
	}
}

func TestEmptyBodyHasNoFrame(t *testing.T) {
	got := AppendPublish(nil, 1, 4096, &Content{Properties: []byte{0, 0}})
	if !bytes.HasSuffix(got, []byte("\x00\x00\xce")) || bytes.Count(got, []byte{FrameEnd}) != 2 {
		t.Fatalf("%q", got)
	}
}

func TestHeaderFitsUpToTheLastByte(t *testing.T) {
	fits := Content{Properties: make([]byte, 4096-8-12)}
	over := Content{Properties: make([]byte, 4096-8-12+1)}
	if !fits.FitsHeader(4096) || over.FitsHeader(4096) || !over.FitsHeader(0) {
		t.Fatal("the limit is frame_max - 8 - 12")
	}
}

func TestAnswersAreMultiple(t *testing.T) {
	if got := AppendAck(nil, 3, 7); string(got) != "\x01\x00\x03\x00\x00\x00\x0d\x00\x3c\x00\x50\x00\x00\x00\x00\x00\x00\x00\x07\x01\xce" {
		t.Fatalf("%q", got)
	}
	if got := AppendNack(nil, 3, 0); string(got) != "\x01\x00\x03\x00\x00\x00\x0d\x00\x3c\x00\x78\x00\x00\x00\x00\x00\x00\x00\x00\x03\xce" {
		t.Fatalf("%q", got)
	}
}

func TestMethodsAreRead(t *testing.T) {
	d, ok := ParseDeliver([]byte("\x03tag\x00\x00\x00\x00\x00\x00\x01\x00\x01\x02ex\x03key"))
	if want := (Deliver{[]byte("tag"), 256, true, []byte("ex"), []byte("key")}); !ok || cmp.Diff(want, d) != "" {
		t.Fatal(cmp.Diff(want, d))
	}
	r, ok := ParseReturn([]byte("\x01\x38\x08NO_ROUTE\x00\x03key"))
	if want := (Return{312, []byte("NO_ROUTE"), []byte{}, []byte("key")}); !ok || cmp.Diff(want, r) != "" {
		t.Fatal(cmp.Diff(want, r))
	}
	tag, multiple, ok := ParseConfirm([]byte("\x00\x00\x00\x00\x00\x00\x00\x09\x01"))
	if !ok || tag != 9 || !multiple {
		t.Fatal(tag, multiple, ok)
	}
	code, text, cause, ok := ParseClose([]byte("\x01\x94\x09NOT_FOUND\x00\x3c\x00\x28"))
	if !ok || code != 404 || text != "NOT_FOUND" || cause != BasicPublish {
		t.Fatal(code, text, cause, ok)
	}
	for _, args := range []string{"", "\x03ta", "\x03tag\x00", "\x03tag\x00\x00\x00\x00\x00\x00\x01\x00\x01\x02ex\x03ke"} {
		if _, ok := ParseDeliver([]byte(args)); ok {
			t.Errorf("%q is a delivery", args)
		}
	}
}
