package federation

import "slices"

// Names inside other structures:
//
//	 lane         ┌──────────────────┬─────────────────┬───────────┬─────────┐
//	              │ origin u8+1..63  │ route u8+1..66  │ shard u16 │ kind u8 │
//	              └──────────────────┴─────────────────┴───────────┴─────────┘
//	 destination  ┌──────────────────┬───────────┐
//	              │ site u8+1..63    │ target u8 │
//	              └──────────────────┴───────────┘
//	 path         ┌──────────┬────────────────┐
//	              │ n u8 ≤32 │ site u8+1..63  │ × n, oldest first
//	              └──────────┴────────────────┘
//
//	field    valid                         a reader does with a bad one
//	origin, site   [a-z0-9-]               refuses: ErrCorrupt
//	route    [a-z0-9-.]; "to.<site>" of kind 1 is the longest   refuses: ErrCorrupt
//	kind     0, 1, 2                       refuses: ErrUnknownCritical (it is part of the lane's identity)
//
// (docs/design.md section 13, batch header.)

// ValidName tells whether a site, a federation or a part of a topology can have the name: 1 to MaxName of [a-z0-9-].
func ValidName(s string) bool { return len(s) <= MaxName && validName(s, false) }

// Valid tells whether the name is 1 to MaxName of [a-z0-9-].
func (s SiteID) Valid() bool { return ValidName(string(s)) }

// Valid tells whether the id is 1 to MaxRoute of [a-z0-9-.].
func (id RouteID) Valid() bool { return len(id) <= MaxRoute && validName(string(id), true) }

func validName(s string, dots bool) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || dots && c == '.') {
			return false
		}
	}
	return s != ""
}

func (r *reader) site() SiteID {
	s := SiteID(r.short())
	if r.err == nil && !s.Valid() {
		r.corrupt("site name %q", s)
	}
	return s
}

func (r *reader) lane() Lane {
	l := Lane{Origin: r.site(), Route: RouteID(r.short()), Shard: r.u16(), Kind: Kind(r.u8())}
	if r.err == nil && !l.Route.Valid() {
		r.corrupt("route id %q", l.Route)
	}
	if r.err == nil && l.Kind > KindReplay {
		r.fail(unknownCritical("lane kind", uint64(l.Kind)))
	}
	return l
}

func (r *reader) destination() Destination {
	return Destination{Site: r.site(), Target: r.u8()}
}

// destinations takes a list in which no destination stands twice: a bitmap counts over it.
func (r *reader) destinations() []Destination {
	n := r.count(int(r.u8()), MaxDestinations, 3)
	if n == 0 {
		return nil
	}
	list := make([]Destination, 0, n)
	for range n {
		d := r.destination()
		if slices.Contains(list, d) {
			r.corrupt("destination %s twice", d)
			return nil
		}
		list = append(list, d)
	}
	return list
}

func (r *reader) path() []SiteID {
	n := r.count(int(r.u8()), MaxPath, 2)
	if n == 0 {
		return nil
	}
	path := make([]SiteID, n)
	for i := range path {
		path[i] = r.site()
	}
	return path
}

func (w *writer) site(s SiteID) {
	if !s.Valid() {
		w.fail("site name %q: want 1 to %d of a-z 0-9 -", s, MaxName)
	}
	w.short(string(s))
}

func (w *writer) lane(l Lane) {
	if !l.Route.Valid() || l.Kind > KindReplay {
		w.fail("lane %s: want a route id of 1 to %d of a-z 0-9 - . and a kind up to %d", l, MaxRoute, KindReplay)
	}
	w.site(l.Origin)
	w.short(string(l.Route))
	w.u16(l.Shard)
	w.u8(uint8(l.Kind))
}

func (w *writer) destination(d Destination) {
	w.site(d.Site)
	w.u8(d.Target)
}

func (w *writer) destinations(list []Destination) {
	w.count(len(list), MaxDestinations, "destinations")
	w.u8(uint8(len(list)))
	for i, d := range list {
		if slices.Contains(list[:i], d) {
			w.fail("destination %s twice", d)
		}
		w.destination(d)
	}
}

func (w *writer) path(path []SiteID) {
	w.count(len(path), MaxPath, "sites of a path")
	w.u8(uint8(len(path)))
	for _, s := range path {
		w.site(s)
	}
}
