package site_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
)

// eventually waits until ok holds; it looks often, and gives up after a time that only a broken program needs.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// bound waits until the router of the site takes from a queue.
func (m *member) bound(queue string) {
	m.world.t.Helper()
	eventually(m.world.t, "somebody consumes "+queue, func() bool {
		q, ok := m.broker.Queue(queue)
		return ok && q.Consumers == 1
	})
}

// client asks the site's router over its admin socket.
func (m *member) client() *admin.Client {
	m.asking.Do(func() {
		m.asks = admin.NewClient(filepath.Join(m.dir(), "data", "admin.sock"))
		m.world.t.Cleanup(m.asks.Close)
	})
	return m.asks
}

func (m *member) status() *admin.Status {
	st, err := m.client().Status(m.world.t.Context())
	if err != nil {
		return &admin.Status{} // not up yet: the caller looks again
	}
	return st
}

// laneIn is what status says of the lane that ends here.
func (m *member) laneIn(lane string) admin.InLane {
	for _, l := range m.status().In {
		if l.Lane == lane {
			return l
		}
	}
	return admin.InLane{}
}

func (m *member) laneOut(lane string) admin.OutLane {
	for _, l := range m.status().Out {
		if l.Lane == lane {
			return l
		}
	}
	return admin.OutLane{}
}

// receipted waits until every destination has receipted everything that the lane assigned, and it assigned so many.
func (m *member) receipted(lane string, last federation.Offset) {
	m.world.t.Helper()
	eventually(m.world.t, fmt.Sprintf("lane %s receipted to %d", lane, last), func() bool {
		l := m.laneOut(lane)
		for _, d := range l.Destinations {
			if d.Receipted != last {
				return false
			}
		}
		return l.LastAssigned == last
	})
}

// balanced fails the test unless the books of the running router balance.
func (m *member) balanced() {
	t := m.world.t
	t.Helper()
	books, err := m.client().Books(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range books.Lines {
		if !line.Balanced {
			t.Errorf("books of %s: %s %s → %s: %s", m.id, line.Side, line.Lane, line.Destination, line.Problem)
		}
	}
}
