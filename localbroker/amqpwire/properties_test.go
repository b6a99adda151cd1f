package amqpwire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestThereAreFiftyFiveEncodings(t *testing.T) {
	if n := len(encodings()); n != 55 {
		t.Fatal(n)
	}
}

func TestAnEditOfNothingLeavesEveryEncodingAsItIs(t *testing.T) {
	for _, e := range encodings() {
		got, err := Rewrite(e.Raw, Edit{})
		if err != nil || !bytes.Equal(got, e.Raw) {
			t.Errorf("%s: %v\n got %x\nwant %x", e.Name, err, got, e.Raw)
		}
	}
}

func ours() Edit {
	return Edit{ID: "ams/orders@1764534000000:120", Origin: "ams", Path: []string{"ams", "fra"}, Time: time.UnixMilli(1764534000123), Duplicate: true, DropLocal: true}
}

func TestOurHeadersStandBehindEveryEncodingsOwn(t *testing.T) {
	tail := appendName(nil, HeaderID)
	tail = append(tail, "S\x00\x00\x00\x1cams/orders@1764534000000:120"...)
	tail = append(tail, "\x0bx-cq-originS\x00\x00\x00\x03ams"...)
	tail = append(tail, "\x09x-cq-pathA\x00\x00\x00\x10S\x00\x00\x00\x03amsS\x00\x00\x00\x03fra"...)
	tail = append(tail, "\x09x-cq-timel\x00\x00\x01\x9a\xd6\x6c\x19\xfb"...)
	tail = append(tail, "\x0ex-cq-duplicatet\x01"...)
	for _, e := range encodings() {
		got, err := Rewrite(e.Raw, ours())
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		before, _ := layoutOf(e.Raw)
		after, err := layoutOf(got)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		want := append(bytes.Clone(before.table(e.Raw)), tail...)
		if !bytes.Equal(after.table(got), want) {
			t.Errorf("%s: headers\n got %x\nwant %x", e.Name, after.table(got), want)
		}
		if !bytes.Equal(got[after.at[deliveryMode]:], e.Raw[before.at[deliveryMode]:]) || !bytes.Equal(got[2:after.at[headers]], e.Raw[2:before.at[headers]]) {
			t.Errorf("%s: another property changed: %x", e.Name, got)
		}
		if after.flags != before.flags|headers.flag() {
			t.Errorf("%s: flags %#x", e.Name, after.flags)
		}
	}
}

// The golden bytes of an edit: what a destination's consumers see. Changing them changes what services read.
func TestGoldenEdit(t *testing.T) {
	raw := flagged(0xb910, "\x0atext/plain"+long("\x07x-deathA\x00\x00\x00\x00\x01kS\x00\x00\x00\x01v")+"\x02\x05\x0560000\x04anna")
	edit := ours()
	edit.ClearUserID, edit.SetExpiration, edit.Expiration = true, true, 1500*time.Millisecond+1
	got, err := Rewrite(raw, edit)
	if err != nil {
		t.Fatal(err)
	}
	const want = "b900" + "0a746578742f706c61696e" + "0000009e" +
		"016b5300000001" + "76" +
		"0c782d63712d757365722d6964530000000461" + "6e6e61" +
		"07782d63712d6964530000001c616d732f6f726465727340313736343533343030303030303a313230" +
		"0b782d63712d6f726967696e5300000003616d73" +
		"09782d63712d7061746841000000105300000003616d735300000003667261" +
		"09782d63712d74696d656c0000019ad66c19fb" +
		"0e782d63712d6475706c69636174657401" +
		"02" + "05" + "0431353031"
	if hex.EncodeToString(got) != want {
		t.Fatalf("got  %x\nwant %s", got, want)
	}
}

func TestReadFindsWhatTheRouterHasToKnow(t *testing.T) {
	path := "\x09x-cq-pathA" + long("S"+long("ams")+"S"+long("fra"))
	for _, c := range []struct {
		name string
		raw  []byte
		want Facts
	}{
		{"nothing", []byte{0, 0}, Facts{}},
		{"transient", flagged(0x1000, "\x01"), Facts{DeliveryMode: 1}},
		{"expiration", flagged(0x0100, "\x0560000"), Facts{HasExpiration: true, Expiration: time.Minute}},
		{"expiration 0", flagged(0x0100, "\x010"), Facts{HasExpiration: true}},
		{"expiration beyond every clock", flagged(0x0100, "\x1499999999999999999999"), Facts{HasExpiration: true, Expiration: math.MaxInt64}},
		{"path", table(path), Facts{Path: []string{"ams", "fra"}}},
		{"path twice", table(path + path), Facts{Path: []string{"ams", "fra", "ams", "fra"}}},
		{"duplicate", table("\x0ex-cq-duplicatet\x01"), Facts{Duplicate: true}},
		{"not duplicate", table("\x0ex-cq-duplicatet\x00"), Facts{}},
		{"duplicate of another type", table("\x0ex-cq-duplicateS" + long("yes")), Facts{}},
		{"id", table("\x07x-cq-idS" + long("a/b@1:2")), Facts{ID: "a/b@1:2"}},
		{"id of another type", table("\x07x-cq-idB\x01"), Facts{}},
		{"first delivery of a quorum queue", table("\x10x-delivery-countl\x00\x00\x00\x00\x00\x00\x00\x00"), Facts{}},
		{"second delivery", table("\x10x-delivery-countl\x00\x00\x00\x00\x00\x00\x00\x01"), Facts{Redelivered: true}},
		{"acquired twice", table("\x10x-acquired-countI\x00\x00\x00\x02"), Facts{Redelivered: true}},
	} {
		got, err := Read(c.raw)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if Redelivered(c.raw) != c.want.Redelivered || ID(c.raw) != c.want.ID {
			t.Errorf("%s: redelivered %v, id %q", c.name, Redelivered(c.raw), ID(c.raw))
		}
	}
}

func TestMalformedPropertiesSayWhatIs(t *testing.T) {
	manySites := strings.Repeat("S"+long("a"), MaxPath+1)
	for _, c := range []struct {
		name string
		raw  []byte
		says string
	}{
		{"no flags", []byte{0}, "the flags alone"},
		{"second word of flags", flagged(0x0001, "\x00\x00"), "second word"},
		{"content-type cut off", flagged(0x8000, "\x05ab"), "content-type"},
		{"timestamp cut off", flagged(0x0040, "\x00"), "timestamp"},
		{"headers longer than the rest", flagged(0x2000, "\x00\x00\x00\x05ab"), "headers"},
		{"headers of 4 GiB", flagged(0x2000, "\xff\xff\xff\xffab"), "headers"},
		{"header name cut off", table("\x05ab"), "name"},
		{"header value cut off", table("\x01kl\x00"), `"k"`},
		{"unknown type", table("\x01kZ\x00"), `'Z'`},
		{"string longer than its table", table("\x01kS\x00\x00\x00\x09a"), `"k"`},
		{"expiration", flagged(0x0100, "\x03abc"), `"abc"`},
		{"expiration with a word of the error in it", flagged(0x0100, "\x06orange"), `"orange"`},
		{"negative expiration", flagged(0x0100, "\x02-5"), `"-5"`},
		{"path is a string", table("\x09x-cq-pathS" + long("ams")), "array of strings"},
		{"path of numbers", table("\x09x-cq-pathA" + long("B\x01")), "site names"},
		{"path with an empty name", table("\x09x-cq-pathA" + long("S\x00\x00\x00\x00")), "site names"},
		{"path with a long name", table("\x09x-cq-pathA" + long("S"+long(strings.Repeat("a", 64)))), "63"},
		{"path of too many", table("\x09x-cq-pathA" + long(manySites)), "more than 32"},
		{"path cut off", table("\x09x-cq-pathA" + long("S\x00\x00\x00\x09a")), "site names"},
		{"path with what no site is named", table("\x09x-cq-pathA" + long("S"+long("Bad Site"))), "site names"},
	} {
		_, err := Read(c.raw)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.says)
		}
	}
}

func TestWhatCanBeReadComesWithTheErrorAboutTheRest(t *testing.T) {
	path := "\x09x-cq-pathA" + long("S"+long("ams"))
	for _, c := range []struct {
		name string
		raw  []byte
		want Facts
	}{
		{"bad expiration", flagged(0x2100, long(path)+"\x06orange"), Facts{Path: []string{"ams"}}},
		{"bad path", flagged(0x3100, long("\x09x-cq-pathV\x0ex-cq-duplicatet\x01")+"\x01\x0560000"),
			Facts{DeliveryMode: 1, HasExpiration: true, Expiration: time.Minute, Duplicate: true}},
		{"a bad path and a good one", table("\x09x-cq-pathV" + path), Facts{}},
	} {
		got, err := Read(c.raw)
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: error %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// A consumer that trusts our headers must not read a publisher's words in them.
func TestNoHeaderOfOursThatAClientForgedSurvives(t *testing.T) {
	for name, forged := range map[string]string{
		"duplicate of another type": "\x0ex-cq-duplicateS" + long("no"),
		"duplicate that is false":   "\x0ex-cq-duplicatet\x00",
		"user-id":                   "\x0cx-cq-user-idS" + long("root"),
		"the rest":                  "\x07x-cq-idS" + long("forged") + "\x0bx-cq-originV\x09x-cq-timeV\x09x-cq-pathV",
		"duplicate of 1":            "\x0ex-cq-duplicatei\x00\x00\x00\x01",
	} {
		got, err := Rewrite(table("\x01a"+"V"+forged+"\x01zV"), Edit{DropForged: true})
		if want := table("\x01aV\x01zV"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	both := "\x0ex-cq-duplicatet\x01\x0ex-cq-duplicateS" + long("no")
	for _, edit := range []Edit{{DropForged: true}, {DropForged: true, Duplicate: true}} {
		if got, err := Rewrite(table(both), edit); err != nil || !bytes.Equal(got, table("\x0ex-cq-duplicatet\x01")) {
			t.Errorf("a true one before a forged one: %q, %v", got, err)
		}
	}
}

func TestAForgedDuplicateIsNotInTheWayOfAPath(t *testing.T) {
	raw := table("\x0ex-cq-duplicateS" + long("no") + "\x09x-cq-pathA" + long("S"+long("nyc")))
	got, err := Rewrite(raw, Edit{Path: []string{"ams"}, DropForged: true})
	if want := table("\x09x-cq-pathA" + long("S"+long("nyc")+"S"+long("ams"))); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestWhatAClientSuppliesIsMergedOneWay(t *testing.T) {
	client := "\x07x-cq-idS" + long("forged") + "\x0bx-cq-originS" + long("forged") + "\x09x-cq-timeS" + long("forged")
	for _, c := range []struct {
		name   string
		fields string
		edit   Edit
		want   Facts
	}{
		{"path grows", "\x09x-cq-pathA" + long("S"+long("nyc")+"S"+long("ams")), Edit{Path: []string{"ams", "fra"}}, Facts{Path: []string{"nyc", "ams", "fra"}}},
		{"path stays", "\x09x-cq-pathA" + long("S"+long("nyc")), Edit{}, Facts{Path: []string{"nyc"}}},
		{"duplicate becomes true", "\x0ex-cq-duplicatet\x00", Edit{Duplicate: true}, Facts{Duplicate: true}},
		{"duplicate stays true", "\x0ex-cq-duplicatet\x01", Edit{Duplicate: false}, Facts{Duplicate: true}},
		{"the rest is replaced", client, Edit{ID: "a/b@1:2", Origin: "ams", Time: time.UnixMilli(1)}, Facts{ID: "a/b@1:2"}},
	} {
		raw, err := Rewrite(table(c.fields+"\x01kV"), c.edit)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := Read(raw)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if bytes.Contains(raw, []byte("forged")) {
			t.Errorf("%s: %q", c.name, raw)
		}
	}
}

func TestAMalformedPathCannotBeMerged(t *testing.T) {
	raw := table("\x09x-cq-pathS" + long("ams"))
	dst := []byte("before")
	got, err := Append(dst, raw, Edit{Path: []string{"ams"}})
	if !errors.Is(err, ErrMalformed) || string(got) != "before" {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestAPathOverItsLimitIsRefused(t *testing.T) {
	var path []string
	for i := range MaxPath {
		path = append(path, string(rune('a'+i)))
	}
	raw := table("\x09x-cq-pathA" + long("S"+long("nyc")))
	if _, err := Rewrite(raw, Edit{Path: path}); !errors.Is(err, ErrMalformed) {
		t.Fatal(err)
	}
	if _, err := Rewrite([]byte{0, 0}, Edit{Path: []string{strings.Repeat("a", 64)}}); !errors.Is(err, ErrMalformed) {
		t.Fatal(err)
	}
}

// namesWithout gives the names of the headers that are left of those in fields when local ones are dropped.
func namesWithout(t *testing.T, fields string) []string {
	t.Helper()
	raw, err := Rewrite(table(fields), Edit{DropLocal: true})
	if err != nil {
		t.Fatal(err)
	}
	l, _ := layoutOf(raw)
	got, _ := decodeTable(l.table(raw))
	return got
}

func TestLocalHeadersAreDroppedAndNothingElse(t *testing.T) {
	number := "l\x00\x00\x00\x00\x00\x00\x00\x02"
	fields := "\x01aV" + "\x07x-deathA" + long("") + "\x01bV" + "\x13x-first-death-queueS" + long("q") + "\x15x-last-death-exchangeS" + long("e") +
		"\x10x-delivery-count" + number + "\x10x-acquired-count" + number + "\x0fx-stream-offset" + number +
		"\x15x-stream-filter-valueV" + "\x0fx-received-fromV" + "\x09x-deathlyV" + "\x02CCV" + "\x06x-mineV"
	if diff := cmp.Diff([]string{"a", "b", "x-stream-filter-value", "x-received-from", "x-deathly", "CC", "x-mine"}, namesWithout(t, fields)); diff != "" {
		t.Fatal(diff)
	}
}

func TestAHeaderOfALocalNameThatNoBrokerWroteStays(t *testing.T) {
	names := []string{"x-death", "x-delivery-count", "x-acquired-count", "x-stream-offset"}
	fields := ""
	for _, name := range names {
		fields += string(rune(len(name))) + name + "S" + long("a publisher's own")
	}
	if diff := cmp.Diff(names, namesWithout(t, fields)); diff != "" {
		t.Fatal(diff)
	}
}

func TestUserIDMovesIntoAHeaderOnlyWhenThereIsOne(t *testing.T) {
	with, err := Rewrite(flagged(0x0018, "\x04anna\x03app"), Edit{ClearUserID: true})
	if err != nil || string(with) != "\x20\x08"+long("\x0cx-cq-user-idS"+long("anna"))+"\x03app" {
		t.Fatalf("%q, %v", with, err)
	}
	without, err := Rewrite(flagged(0x0008, "\x03app"), Edit{ClearUserID: true})
	if err != nil || string(without) != "\x00\x08\x03app" {
		t.Fatalf("%q, %v", without, err)
	}
}

func TestExpirationIsSetWhetherThereWasOneOrNot(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{{0, "\x010"}, {-time.Second, "\x010"}, {time.Nanosecond, "\x011"}, {time.Second, "\x041000"}, {math.MaxInt64, "\x0d9223372036855"}} {
		for _, raw := range [][]byte{flagged(0x0008, "\x03app"), flagged(0x0108, "\x0599999\x03app")} {
			got, err := Rewrite(raw, Edit{SetExpiration: true, Expiration: c.d})
			if err != nil || string(got) != "\x01\x08"+c.want+"\x03app" {
				t.Errorf("%v: %q, %v", c.d, got, err)
			}
		}
	}
}
