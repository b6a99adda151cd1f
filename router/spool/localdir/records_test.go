package localdir_test

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

var (
	orders     = federation.Lane{Origin: "ams", Route: "orders"}
	generation = federation.Generation(birth.UnixMilli())
	nyc        = federation.Destination{Site: "nyc"}
	countKey   = federation.MarkKey{Kind: federation.MarkReceipt, Lane: orders, Generation: generation, Dest: nyc}
)

func recordsOf(t *testing.T, n federation.Offset) []spool.Record {
	records := []spool.Record{
		spool.BatchRecord{Batch: batchOf(t, n)},
		spool.MarkRecord{Key: countKey, Value: binary.LittleEndian.AppendUint64(nil, uint64(n))},
	}
	switch n % parkEvery {
	case 0:
		records = append(records, parkOf(n))
	case 2:
		if parked := n - 2; parked > 0 && parked/parkEvery%2 == 1 {
			records = append(records, spool.UnparkRecord{Park: parkID(parked), Outcome: "dropped", Who: "admin", Why: "test", At: birth})
		}
	}
	return records
}

func parkID(n federation.Offset) spool.ParkID {
	return spool.ParkID{Lane: orders, Generation: generation, Offset: n, Destination: nyc}
}

func parkOf(n federation.Offset) spool.ParkRecord {
	return spool.ParkRecord{Lane: orders, Generation: generation, Offset: n, Destination: nyc, Reason: "unroutable", Attempts: 1, First: birth, Last: birth, Entry: entryOf(n)}
}

// isParked tells whether message n is parked when commit last was the last one.
func isParked(n, last federation.Offset) bool {
	ended := n/parkEvery%2 == 1 && last >= n+2
	return n > 0 && n%parkEvery == 0 && n <= last && !ended
}

func entryOf(n federation.Offset) federation.Entry {
	body := make([]byte, bodySize)
	for i := range body {
		body[i] = byte(uint64(n)*131 + uint64(i)*uint64(i)*31)
	}
	return federation.Entry{TTL: federation.NoTTL, Message: federation.Message{Exchange: "x", RoutingKey: fmt.Sprint(n), Properties: []byte{0, 0}, Body: body}}
}

var sealed sync.Map // federation.Offset → *federation.Batch: each is sealed once, as a batch is

func batchOf(t *testing.T, n federation.Offset) *federation.Batch {
	if b, ok := sealed.Load(n); ok {
		return b.(*federation.Batch)
	}
	coder, err := federation.NewCoder()
	if err != nil {
		t.Fatal(err)
	}
	h := federation.Header{Lane: orders, Generation: generation, First: n, SealEpoch: 7, SealedAt: birth, Destinations: []federation.Destination{nyc}}
	b, err := federation.Seal(h, []federation.Entry{entryOf(n)}, federation.CodecNone, coder)
	if err != nil {
		t.Fatal(err)
	}
	sealed.Store(n, b)
	return b
}
