package router

import (
	"context"
	"sync"

	"cloudqueue/federation"
)

// maxReplies bounds the control frames that wait for one link (chosen: 256 lanes that end here have at most four each; a peer
// that opens lanes without end, or does not read, fills its own queue alone).
const maxReplies = 8192

// replies are the control frames that wait for a link, sent in order by one goroutine, since Control must not block. Each is
// the newest word about its subject, so one that waits is replaced by the next about the same.
type replies struct {
	cancel context.CancelFunc
	wake   chan struct{} // capacity 1

	mu    sync.Mutex // frames come from lanes and links, run takes them
	order []subject
	frame map[subject]federation.Frame
}

// subject is what a control frame is about.
type subject struct {
	kind federation.FrameType
	lane federation.Lane
	dest federation.Destination
}

func newReplies(cancel context.CancelFunc) *replies {
	return &replies{cancel: cancel, wake: make(chan struct{}, 1), frame: map[subject]federation.Frame{}}
}

func subjectOf(f federation.Frame) subject {
	s := subject{kind: f.Type()}
	switch f := f.(type) {
	case federation.LaneState:
		s.lane = f.Lane
		if len(f.Destinations) > 0 {
			s.dest = f.Destinations[0].Destination
		}
	case federation.Window:
		s.lane, s.dest = f.Lane, f.Destination
	case federation.Receipt:
		s.lane, s.dest = f.Lane, f.Destination
	case federation.SyncReq:
		s.lane, s.dest = f.Lane, f.Destination
	case federation.Sync:
		s.lane, s.dest = f.Lane, f.Destination
	}
	return s
}

// put queues a frame, or replaces the one that waits; false when the queue is full.
func (q *replies) put(f federation.Frame) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	about := subjectOf(f)
	if _, waits := q.frame[about]; !waits {
		if len(q.order) >= maxReplies {
			return false
		}
		q.order = append(q.order, about)
	}
	q.frame[about] = f
	poke(q.wake)
	return true
}

func (q *replies) take() federation.Frame {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 {
		q.order = nil // so that its array does not grow for ever
		return nil
	}
	about := q.order[0]
	q.order = q.order[1:]
	f := q.frame[about]
	delete(q.frame, about)
	return f
}

// run sends until the link ends, which takes along what waits: the next LANE_OPEN begins again.
func (q *replies) run(ctx context.Context, l Link) {
	for {
		select {
		case <-q.wake:
		case <-ctx.Done():
			return
		}
		for f := q.take(); f != nil; f = q.take() {
			if err := l.Send(ctx, f); err != nil {
				return
			}
		}
	}
}

// reply sends control frames on a link that is up; on another one it does nothing.
func (r *Router) reply(l Link, frames ...federation.Frame) {
	r.mu.Lock()
	q := r.replies[l]
	r.mu.Unlock()
	for _, f := range frames {
		if q != nil && !q.put(f) {
			r.refused.add("reply", "more than the link takes", string(l.Peer()), "")
		}
	}
}
