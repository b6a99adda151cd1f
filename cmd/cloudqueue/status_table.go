package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cloudqueue/router/admin"
)

// writeStatus shows a status to people: what needs attention, then everything.
func writeStatus(w io.Writer, s *admin.Status) {
	writeHead(w, s)
	writeProblems(w, s)
	outLanes(s).section(w, "LANES OUT")
	inLanes(s).section(w, "LANES IN")
	links(s).section(w, "LINKS")
	siteParts(s).section(w, "SITE")
	parking(s).section(w, "PARKED")
	refusals(s).section(w, "REFUSED SINCE THE START")
}

func writeHead(w io.Writer, s *admin.Status) {
	verdict := "nothing needs attention"
	if n := len(s.Problems()); n > 0 {
		verdict = "TO LOOK AT: " + count(n, "part")
	}
	if n := s.Parking.Messages; n > 0 {
		verdict += ", " + count(n, "message") + " parked"
	}
	fmt.Fprintf(w, "site %s of %s, up %s, %s: %s\n", s.Site, s.Federation, ago(s.At, s.Router.Started),
		s.Router.Version, verdict)
}

func outLanes(s *admin.Status) *grid {
	g := newGrid("LANE", "TO", "VIA", "STATE", ">SINCE", ">ASSIGNED", ">SENT", ">RECEIPTED", ">BACKLOG", ">BYTES",
		">LAG", ">IN/S", ">OUT/S", ">DRAINED IN", "GENERATION")
	for _, l := range s.Out {
		g.add(l.Lane, "", "", l.State, ago(s.At, l.Since), l.LastAssigned, "", "", l.StoredMessages,
			bytesText(l.StoredBytes), "", rateText(l.InPerSecond), "", "", l.Generation)
		for _, d := range l.Destinations {
			g.add("", d.Destination, orDash(d.NextHop), d.State, ago(s.At, d.Since), lastFor(l, d), d.Sent, d.Receipted,
				d.BacklogMessages, bytesText(d.BacklogBytes),
				secondsText(d.LagSeconds), "", rateText(d.OutPerSecond), drained(d), "")
		}
	}
	return g
}

func rateText(perSecond float64) string {
	if perSecond < 0.05 { // the rest of an estimate that fades
		return "0"
	}
	return threeDigits(perSecond)
}

// lastFor is the last offset that a destination gets: it may have left.
func lastFor(l admin.OutLane, d admin.OutDestination) any {
	if d.Leave != 0 {
		return fmt.Sprintf("%d left", d.Leave)
	}
	return l.LastAssigned
}

func drained(d admin.OutDestination) string {
	switch {
	case d.BacklogMessages == 0:
		return "-"
	case d.DrainSeconds < 0:
		return "never"
	}
	return secondsText(d.DrainSeconds)
}

func inLanes(s *admin.Status) *grid {
	g := newGrid("LANE", "TO", "FROM", "STATE", ">SINCE", ">DONE", ">DELIVERED", ">FLAGGED", ">PARKED", ">EXPIRED",
		">EXCLUDED", ">VOIDED", ">WINDOW", ">OUT/S", ">LAG", ">LAST", "GENERATION")
	for _, l := range s.In {
		g.add(l.Lane, l.Destination, orDash(l.From), l.State, ago(s.At, l.Since), l.Done, l.Delivered, l.Flagged,
			l.Parked, l.Expired, l.Excluded, l.Voided,
			l.WindowMessages, rateText(l.OutPerSecond), secondsText(l.LagSeconds), ago(s.At, l.LastPublished),
			l.Generation)
	}
	return g
}

func links(s *admin.Status) *grid {
	g := newGrid("PEER", "STATE", ">SINCE", ">NEXT TRY", ">RTT", ">SENT", ">RECEIVED", ">BACKLOG", ">BYTES", ">REFUSED",
		"ADDRESS")
	for _, l := range s.Links {
		g.add(l.Peer, l.State, ago(s.At, l.Since), until(s.At, l.NextRetry), rtt(l.RTTSeconds), bytesText(l.BytesSent),
			bytesText(l.BytesReceived),
			l.BacklogMessages, bytesText(l.BacklogBytes), sum(l.Refused), addressText(l))
	}
	return g
}

// addressText is where the peer is while the link is up, else where it is looked for.
func addressText(l admin.Link) string {
	switch {
	case l.Remote != "":
		return l.Remote
	case len(l.Addresses) == 0:
		return "(it dials us)"
	}
	return strings.Join(l.Addresses, " ")
}

func rtt(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return time.Duration(seconds * float64(time.Second)).Round(10 * time.Microsecond).String()
}

func until(now, then time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return durationText(max(then.Sub(now), 0))
}

func sum(counts []admin.Count) (total uint64) {
	for _, c := range counts {
		total += c.Count
	}
	return total
}

func siteParts(s *admin.Status) *grid {
	g := newGrid("PART", "STATE", ">SINCE", "WHAT")
	add := func(part string, c admin.Condition, what string, args ...any) {
		g.add(part, c.State, ago(s.At, c.Since), fmt.Sprintf(what, args...))
	}
	store := s.Store
	add("store", store.Condition, "%s, used %s of %s, free %s, %s, LSN %d, epoch %d, id %.8s", store.URL,
		bytesText(store.UsedBytes),
		quotaText(store.QuotaBytes), bytesText(store.FreeBytes), count(store.Segments, "segment"), store.LSN,
		store.Epoch, store.ID)
	add("broker", s.Broker.Condition, "%s", strings.Join(slices.DeleteFunc([]string{s.Broker.URL, s.Broker.Product,
		s.Broker.Version}, empty), " "))
	for _, c := range s.Broker.Connections {
		add("  "+c.Name, c.Condition, "%s", connectionText(s.At, c))
	}
	for _, p := range s.Broker.Publishers {
		add("  owner lock", p.Condition, "%s", p.LockQueue)
	}
	t := s.Topology
	add("topology", t.Condition, "%sdigest %.12s, from %s, applied %s ago", versionText(t.Version), t.Digest,
		originText(t), ago(s.At, t.AppliedAt))
	if t.Problem != "" {
		g.add("", "", "", "not taken: "+t.Problem)
	}
	add("listener", s.Listener.Condition, "%s, certificate %s %s", s.Listener.Address, orDash(s.Listener.Certificate),
		certificateText(s.At, s.Listener.CertificateExpires))
	add("router", s.Router.Condition, "pid %d, heap %s, %d goroutines, data in %s", s.Router.PID,
		bytesText(s.Router.HeapBytes), s.Router.Goroutines, s.Router.DataDir)
	return g
}

func certificateText(now, end time.Time) string {
	if !end.IsZero() && end.Before(now) {
		return "ended " + ago(now, end) + " ago"
	}
	return "ends in " + until(now, end)
}

// connectionText says what there is to say of a connection to the broker; mostly nothing.
func connectionText(now time.Time, c admin.BrokerConnection) string {
	var said []string
	if c.Alarm != "" {
		said = append(said, "alarm: "+c.Alarm)
	}
	if !c.NextRetry.IsZero() {
		said = append(said, "next try in "+until(now, c.NextRetry))
	}
	return orDash(strings.Join(said, ", "))
}

// versionText is nothing for a plain file, which has no versions.
func versionText(version uint64) string {
	if version == 0 {
		return ""
	}
	return fmt.Sprintf("version %d, ", version)
}

// originText says where the document came from: a source's name begins with its kind, a copy on disk has the source's.
func originText(t admin.Topology) string {
	if t.Origin == "last-good" {
		return "the last good copy of " + t.Source
	}
	return t.Source
}

func empty(s string) bool { return s == "" }

func quotaText(n uint64) string {
	if n == 0 {
		return "no quota"
	}
	return bytesText(n)
}

func parking(s *admin.Status) *grid {
	g := newGrid("REASON", ">MESSAGES", ">LAST", "TO DO")
	for _, c := range s.Parking.Reasons {
		g.add(c.Reason, c.Count, ago(s.At, c.Last), "cloudqueue parking list --reason "+c.Reason)
	}
	return g
}

func refusals(s *admin.Status) *grid {
	g := newGrid("WHAT", "REASON", ">COUNT", ">LAST", "DETAIL", "TO DO")
	for _, r := range s.Refused {
		g.add(r.What, r.Reason, r.Count.Count, ago(s.At, r.Last), orDash(r.Detail), fixText(r.Fix))
	}
	for _, l := range s.Links {
		for _, c := range l.Refused {
			g.add("link "+l.Peer, c.Reason, c.Count, ago(s.At, c.Last), orDash(c.Detail), fixText(c.Fix))
		}
	}
	return g
}

// fixText is what to do about something that was counted.
func fixText(fix string) string {
	if fix == "" {
		return "nothing: it heals by itself"
	}
	return fix
}
