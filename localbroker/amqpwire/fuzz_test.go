package amqpwire

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// FuzzRewrite holds an edit against the simple reader: what the edit does not name is there, in order, byte for byte;
// what it sets is there, once.
func FuzzRewrite(f *testing.F) {
	for _, e := range encodings() {
		f.Add(e.Raw)
	}
	f.Add(table("\x09x-cq-pathA" + long("S"+long("ams")) + "\x07x-deathV\x0ex-cq-duplicatet\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if same, err := Rewrite(raw, Edit{}); err == nil && !bytes.Equal(same, raw) {
			t.Fatalf("an edit of nothing changed %x to %x", raw, same)
		}
		edit := ours()
		edit.ClearUserID = true
		got, err := Rewrite(raw, edit)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		before, _ := layoutOf(raw)
		after, err := layoutOf(got)
		if err != nil {
			t.Fatalf("%x became %x: %v", raw, got, err)
		}
		names, values := decodeTable(before.table(raw))
		var want [][]byte
		for i, name := range names {
			own := slices.Contains([]string{HeaderID, HeaderOrigin, HeaderPath, HeaderTime, HeaderDuplicate}, name) || name == HeaderUserID && before.has(userID)
			if !own && !IsLocal(name, values[i][1+len(name)]) {
				want = append(want, values[i])
			}
		}
		_, kept := decodeTable(after.table(got))
		if len(kept) < len(want)+5 || !slices.EqualFunc(kept[:len(want)], want, bytes.Equal) {
			t.Fatalf("headers of %x became %x", raw, got)
		}
		if after.has(userID) {
			t.Fatalf("user-id is still in %x", got)
		}
		again, err := Rewrite(got, edit)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("the same edit twice: %x became %x, %v", got, again, err)
		}
	})
}

// FuzzDropForged holds that nothing of ours is left that the edit does not set, but an x-cq-duplicate of true.
func FuzzDropForged(f *testing.F) {
	for _, e := range encodings() {
		f.Add(e.Raw)
	}
	f.Add(table("\x09x-cq-pathV\x0ex-cq-duplicatet\x00\x0ex-cq-duplicatet\x02\x0cx-cq-user-idV"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := Rewrite(raw, Edit{DropForged: true})
		if err != nil {
			return
		}
		l, _ := layoutOf(got)
		names, values := decodeTable(l.table(got))
		for i, name := range names {
			switch name {
			case HeaderID, HeaderOrigin, HeaderPath, HeaderTime, HeaderUserID:
				t.Fatalf("%s is left in %x", name, got)
			case HeaderDuplicate:
				if !bytes.HasPrefix(values[i], []byte("\x0ex-cq-duplicatet")) || values[i][len(values[i])-1] == 0 {
					t.Fatalf("%q is left of %x", values[i], raw)
				}
			}
		}
		if again, err := Rewrite(got, Edit{DropForged: true}); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%x became %x, %v", got, again, err)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, e := range encodings() {
		f.Add(e.Raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		facts, err := Read(raw)
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatal(err)
		}
		if err == nil && (facts.Redelivered != Redelivered(raw) || len(facts.Path) > MaxPath) {
			t.Fatalf("%+v", facts)
		}
	})
}

func FuzzMethods(f *testing.F) {
	f.Add([]byte("\x00\x01c\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01e\x01k"))
	f.Fuzz(func(_ *testing.T, args []byte) {
		ParseDeliver(args)
		ParseReturn(args)
		ParseConfirm(args)
		ParseClose(args)
		ParseShort(args)
		ParseMethod(args)
		ParseContentHeader(args)
	})
}
