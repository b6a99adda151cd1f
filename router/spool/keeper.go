package spool

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// keepInterval is how often the keeper looks at the store's free space and tries again what failed. Chosen: space that
// comes back is used within a second.
const keepInterval = time.Second

// keep is the keeper: it opens the next segment ahead, writes footers, removes what is dead and cleans what is pinned.
// Nothing of it is in the way of a commit, and each is tried again at the next look when it fails. Only the ticker
// brings that look then: what fails at once, and leaves garbage that calls for the keeper, would else be tried without
// a pause.
func (s *Spool) keep(ctx context.Context) {
	ticker := time.NewTicker(keepInterval)
	defer ticker.Stop()
	full := false
	var space error
	for ctx.Err() == nil {
		err := errors.Join(s.errands(ctx), s.clean(ctx), space)
		s.kept(ctx, err)
		tidy := s.tidy
		if err != nil {
			tidy = nil
		}
		select { // any order: every errand looks at everything
		case <-tidy:
		case <-ticker.C:
			space = s.refreshSpace(ctx)
			s.sayWhenFull(&full)
		case <-ctx.Done():
		}
	}
}

// errands are the short works.
func (s *Spool) errands(ctx context.Context) error {
	var errs []error
	for _, errand := range []func(context.Context) error{s.writeFooters, s.openAhead, s.removeGarbage, s.setAside} {
		err := errand(ctx)
		if errors.Is(err, ErrFenced) {
			s.mu.Lock()
			s.fenced = err
			s.mu.Unlock()
			notify(s.work)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// kept notes how a look of the keeper went, and says when a series of failures begins and ends.
func (s *Spool) kept(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	if err == nil {
		err = s.state.uncleanable()
	}
	was := s.health.Cleaning
	s.health.Cleaning = err
	s.look()
	s.mu.Unlock()
	switch {
	case was == nil && err != nil:
		s.logger.Warn("store is not kept in order, trying again", "epoch", s.identity.Epoch, "err", err)
	case was != nil && err == nil:
		s.logger.Info("store kept in order again", "epoch", s.identity.Epoch)
	}
}

// openAhead makes the next segment while the active one is being written. It waits until the active one holds a group:
// the header of the next one names it as one that does.
func (s *Spool) openAhead(ctx context.Context) error {
	s.mu.Lock()
	previous := s.previous
	needed := s.ahead == nil && s.aheadOf != previous && s.health.Err == nil
	s.mu.Unlock()
	if !needed {
		return nil
	}
	o, err := s.create(ctx)
	if err != nil {
		return err
	}
	s.keepAhead(o, previous)
	return nil
}

// writeFooters ends the segments that the writer has left.
func (s *Spool) writeFooters(ctx context.Context) error {
	var errs []error
	for _, o := range s.takeRetired() {
		if s.gone(o.segment) {
			errs = append(errs, o.w.Close())
			continue
		}
		errs = append(errs, s.end(ctx, o))
	}
	return errors.Join(errs...)
}

// end writes the footer of a segment and closes it. When that fails the segment stays without: it is scanned when its
// index is needed.
func (s *Spool) end(ctx context.Context, o *openSegment) error {
	footer := encodeFooter(o.content, &o.header, o.valid)
	err := o.append(ctx, footer)
	err = errors.Join(err, o.w.Close())
	s.mu.Lock()
	s.grow(o.segment, int64(len(footer)))
	o.footer = err == nil
	o.segment.content = nil
	s.mu.Unlock()
	s.cacheContent(o.segment, o.content)
	if err != nil {
		return fmt.Errorf("footer of segment %d: %w", o.number(), err)
	}
	return nil
}

// cacheContent keeps the extents of a segment that leaves memory: who reads near the end of the log finds them there.
func (s *Spool) cacheContent(g *segment, c *content) {
	for key, l := range c.lanes {
		s.extents.put(g, key, l.extents)
	}
}

// removeGarbage removes segments that hold nothing, newest first: an older one may be named by the header of a newer
// one.
func (s *Spool) removeGarbage(ctx context.Context) error {
	for {
		number, ok := s.nextGarbage()
		if !ok {
			return nil
		}
		if err := s.readers.drop(number); err != nil {
			s.logger.Debug("close of a dead segment", "segment", number, "err", err)
		}
		if err := s.store.Remove(ctx, number); err != nil {
			return fmt.Errorf("remove segment %d: %w", number, err)
		}
		s.removed(number)
	}
}

// sayWhenFull says once that the spool got full, and once that it is not any more.
func (s *Spool) sayWhenFull(said *bool) {
	u := s.Usage()
	if u.Full == *said {
		return
	}
	*said = u.Full
	if u.Full {
		s.logger.Warn("store full, batches are refused", "epoch", s.identity.Epoch, "err", s.Health().Full,
			"used", u.Used, "quota", u.Quota, "reserve", u.Reserve, "free", u.Free)
		return
	}
	s.logger.Info("store has room again", "epoch", s.identity.Epoch, "used", u.Used, "free", u.Free)
}
