package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

var (
	orders  = federation.Lane{Origin: "ams", Route: "orders"}
	nyc     = federation.Destination{Site: "nyc"}
	sealing = time.UnixMilli(1_764_534_000_000)
	genesis = federation.Generation(1_764_534_000_000)
)

// aStore has the lane ams/orders with batches of two messages each: 1-2, 3-4, 5-6, of which nyc has receipted 2.
func aStore(t *testing.T) (url, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "spool")
	fillStore(t, dir)
	return "file://" + dir, dir
}

func fillStore(t *testing.T, dir string) {
	t.Helper()
	if _, err := localdir.Init(dir, spool.Home{Site: "ams", Federation: "cloudqueue"}, sealing); err != nil {
		t.Fatal(err)
	}
	withSpool(t, dir, func(ctx context.Context, sp *spool.Spool) error {
		lane := federation.LaneMark{Generation: genesis, Shards: 1, Members: []federation.Membership{{Destination: nyc, Join: 1}}}
		receipt := federation.Receipt{Lane: orders, Generation: genesis, Destination: nyc, Store: federation.StoreID{1}, Born: sealing, Join: 1, Done: 2, Counters: federation.Counters{Delivered: 2}}
		records := []spool.Record{
			spool.MarkRecord{Key: federation.MarkKey{Kind: federation.MarkLane, Lane: orders}, Value: lane.Encode()},
			spool.MarkRecord{Key: federation.MarkKey{Kind: federation.MarkReceipt, Lane: orders, Generation: genesis, Dest: nyc}, Value: receipt.Encode()},
		}
		for first := federation.Offset(1); first < 6; first += 2 {
			records = append(records, spool.BatchRecord{Batch: sealPair(t, first)})
		}
		return sp.Commit(ctx, records...)
	})
}

func sealPair(t *testing.T, first federation.Offset) *federation.Batch {
	t.Helper()
	coder, err := federation.NewCoder()
	if err != nil {
		t.Fatal(err)
	}
	var entries []federation.Entry
	for i := range federation.Offset(2) {
		body := fmt.Appendf(nil, `{"order":%d}`, first+i)
		entries = append(entries, federation.Entry{TTL: federation.NoTTL, Message: federation.Message{Exchange: "orders", RoutingKey: "orders.new", Properties: []byte{0, 0}, Body: body}})
	}
	h := federation.Header{Lane: orders, Generation: genesis, First: first, SealEpoch: 1, SealedAt: sealing, Destinations: []federation.Destination{nyc}}
	b, err := federation.Seal(h, entries, federation.CodecNone, coder)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withSpool opens the store as a router would.
func withSpool(t *testing.T, dir string, use func(ctx context.Context, sp *spool.Spool) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	segments, err := localdir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	sp, err := spool.Open(ctx, segments, spool.Config{SegmentSize: 64 << 10, Quota: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- sp.Run(ctx) }()
	err = errors.Join(use(ctx, sp), sp.Close(ctx))
	if ended := <-ran; !errors.Is(ended, spool.ErrClosed) { // Close may come before Run has begun
		err = errors.Join(err, ended)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// damage turns a bit in the header of the store's first segment.
func damage(t *testing.T, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("segments %v, %v", paths, err)
	}
	content, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	content[20] ^= 1
	if err := os.WriteFile(paths[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSpoolLsListsLanesAndSegments(t *testing.T) {
	url, _ := aStore(t)
	got := cloudqueue(t, "spool", "ls", "--segments", url)
	got.want(t, exitOK, "LANES", "ams/orders  1764534000000      1     6        3", "SEGMENTS", "whole")
	var listing storeListing
	if err := json.Unmarshal([]byte(cloudqueue(t, "spool", "ls", url, "-o", "json").out), &listing); err != nil {
		t.Fatal(err)
	}
	if len(listing.Lanes) != 1 || listing.Lanes[0].Last != 6 || len(listing.Segments) == 0 || len(listing.Corrupt) != 0 {
		t.Errorf("got %+v", listing)
	}
}

func TestSpoolCatPrintsMessagesOfALane(t *testing.T) {
	url, _ := aStore(t)
	got := cloudqueue(t, "spool", "cat", "ams/orders", "--from", "2", "--count", "3", "--store", url)
	golden(t, "spool_cat", got.out)
	got.want(t, exitOK)
	lines := strings.Split(strings.TrimSpace(cloudqueue(t, "spool", "cat", "ams/orders", "--store", url, "-o", "json").out), "\n")
	var last storedEntry
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 6 || last.Offset != 6 || string(last.Body) != `{"order":6}` {
		t.Errorf("%d lines, the last is %+v, %v", len(lines), last, err)
	}
	cloudqueue(t, "spool", "cat", "ams/orders", "--from", "7", "--store", url).want(t, exitNo, "holds no message of ams/orders", "from offset 7")
	cloudqueue(t, "spool", "cat", "ams/order", "--store", url).want(t, exitNo, "holds nothing of ams/order", "spool ls")
}

func TestSpoolCatOfASegmentPrintsItsRecords(t *testing.T) {
	url, _ := aStore(t)
	got := cloudqueue(t, "spool", "cat", "--segment", "1", "--store", url)
	got.want(t, exitOK, "RECOVERED", "CHECKPOINT", "BATCH", "ams/orders@1764534000000:5 to 6")
	cloudqueue(t, "spool", "cat", "--segment", "99", "--store", url).want(t, exitNo, "no segment 99", "spool ls --segments")
	cloudqueue(t, "spool", "cat", "ams/orders", "--segment", "1", "--store", url).want(t, exitUsage, `"ams/orders" is one argument too many`)
}

func TestBooksOfflineBalanceWithoutARouter(t *testing.T) {
	url, _ := aStore(t)
	got := cloudqueue(t, "books", "--offline", "--store", url)
	golden(t, "books_offline", regexp.MustCompile(`LSN \d+ of store [0-9a-f]+`).ReplaceAllString(got.out, "LSN … of store …"))
	got.want(t, exitOK, "the books balance")
}

func TestSpoolCommandsReadBesideARunningRouterAndAreRefusedWhereTheyWrite(t *testing.T) {
	url, dir := aStore(t)
	cloudqueue(t, "spool", "ls", url).want(t, exitOK, ", 1 segment, 0 messages parked")
	withSpool(t, dir, func(context.Context, *spool.Spool) error {
		cloudqueue(t, "spool", "ls", url).want(t, exitOK, "ams/orders")
		cloudqueue(t, "books", "--offline", "--store", url).want(t, exitOK, "the books balance")
		cloudqueue(t, "spool", "new-id", url).want(t, exitRefused, "held by another process", "end the router or the command that has it")
		return nil
	})
}

// aDamagedStore is aStore with a bad header.
func aDamagedStore(t *testing.T) (url string) {
	t.Helper()
	url, dir := aStore(t)
	withSpool(t, dir, func(ctx context.Context, sp *spool.Spool) error { // a second opening: what the first one wrote was durable
		return sp.Commit(ctx, spool.AuditRecord{Who: "admin", What: "looked", At: sealing})
	})
	damage(t, dir)
	return url
}

func TestAVoidThatTheDiskDoesNotTakeInTimeSaysSo(t *testing.T) {
	void := []string{"spool", "void", "--corrupt", "--store", aDamagedStore(t), "--why", "disk replaced", "--yes"}
	cloudqueue(t, append(void, "--timeout", "1ns")...).want(t, exitFailed, "may not be on the disk", "deadline exceeded", "to do: look at its disk")
}

func TestACorruptStoreIsShownAndAbandonedOnlyByAWord(t *testing.T) {
	url := aDamagedStore(t)
	cloudqueue(t, "spool", "ls", url).want(t, exitOK, "CORRUPT", "header is bad")

	void := []string{"spool", "void", "--corrupt", "--store", url, "--why", "disk replaced"}
	cloudqueue(t, void[:5]...).want(t, exitUsage, "--why")
	cloudqueue(t, void...).want(t, exitRefused, "1 stretch to be abandoned", "--yes")
	cloudqueue(t, append(void, "--yes")...).want(t, exitOK, "1 stretch abandoned")
	cloudqueue(t, append(void, "--yes")...).want(t, exitOK, "nothing is corrupt in the store")
}

func TestALostSegmentIsAbandonedByAWordAlsoAfterARouterRanWithoutIt(t *testing.T) {
	url, dir := aStore(t)
	look := func(ctx context.Context, sp *spool.Spool) error {
		return sp.Commit(ctx, spool.AuditRecord{Who: "admin", What: "looked", At: sealing})
	}
	segments, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	withSpool(t, dir, look) // its CHECKPOINT tells of the segment before
	if err := os.Remove(slices.Min(segments)); err != nil {
		t.Fatal(err)
	}
	withSpool(t, dir, look)

	void := []string{"spool", "void", "--corrupt", "--store", url, "--why", "no backup"}
	cloudqueue(t, void...).want(t, exitRefused, "the segment is missing", "1 stretch to be abandoned")
	cloudqueue(t, append(void, "--yes")...).want(t, exitOK, "1 stretch abandoned")
	cloudqueue(t, append(void, "--yes")...).want(t, exitOK, "nothing is corrupt in the store", "cloudqueue status")
}

func TestDoctorAcceptsAStoreThatIsThere(t *testing.T) {
	file := routerFile(t, "ams")
	data := filepath.Join(filepath.Dir(file), "data")
	cloudqueue(t, "spool", "init", "-c", file).want(t, exitOK, "file://"+data+"/spool")
	cloudqueue(t, "doctor", "-c", file, "--timeout", "5s").want(t, exitNo, "ok  data folder: "+data, "ok  store: file://"+data+"/spool: store ")
}

func TestDoctorSaysWhichQuotaADiskTakesThatIsSmallerThanTheReserve(t *testing.T) {
	file := routerFile(t, "ams")
	cloudqueue(t, "spool", "init", "-c", file).want(t, exitOK)
	changeRouterFile(t, file, "data-dir: data\n", "data-dir: data\nstore: {quota: 900PiB}\n")
	found := doctorOn(t, file, "store")
	wantIn(t, found, "XX  store: the disk of ", "less than the 49478023249920 KiB", "it takes no message",
		"to do: in the router's file: store.quota: ", "; then restart the router")

	quota := regexp.MustCompile(`store\.quota: (\d+MiB)`).FindStringSubmatch(found)
	if len(quota) != 2 {
		t.Fatalf("no quota in\n%s", found)
	}
	changeRouterFile(t, file, "900PiB", quota[1])
	if found := doctorOn(t, file, "store"); strings.Contains(found, "it takes no message") {
		t.Errorf("with the quota that it said:\n%s", found)
	}
}
