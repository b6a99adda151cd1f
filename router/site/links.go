package site

import (
	"cmp"
	"maps"
	"slices"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/wan"
	"cloudqueue/wan/pki"
)

// links shows the endpoint's links, with what waits here for each.
func (s service) links(lanes []admin.OutLane) []admin.Link {
	messages, bytes := map[string]uint64{}, map[string]uint64{}
	for _, lane := range lanes {
		for _, d := range lane.Destinations {
			messages[d.NextHop] += d.BacklogMessages
			bytes[d.NextHop] += d.BacklogBytes
		}
	}
	out := []admin.Link{}
	for _, l := range s.site.endpoint.Status() {
		shown := link(l)
		shown.BacklogMessages, shown.BacklogBytes = messages[shown.Peer], bytes[shown.Peer]
		out = append(out, shown)
	}
	return out
}

func link(l wan.LinkStatus) admin.Link {
	out := admin.Link{Condition: admin.Condition{State: admin.State(l.State), Reason: l.Reason, Fix: l.Fix, Since: l.Since}, Peer: string(l.Peer),
		Addresses: l.Addresses, Connections: len(l.Connections), NextRetry: l.NextRetry, RTTSeconds: l.RTT.Seconds(), BytesSent: l.Sent.Bytes,
		BytesReceived: l.Received.Bytes, BatchesSent: l.Sent.Frames, BatchesReceived: l.Received.Frames}
	if len(l.Connections) > 0 {
		out.Remote = l.Connections[0].Remote
	}
	if !l.Hello.Store.IsZero() {
		out.PeerStore, out.PeerEpoch, out.PeerTopology = l.Hello.Store.String(), l.Hello.Epoch, l.Hello.TopologyVersion
	}
	for reason, n := range l.Verdicts {
		if reason != "OK" && reason != "DUP_OK" && reason != "LINK_LOST" { // LINK_LOST is no answer of the peer: the frame is sent again
			out.Refused = append(out.Refused, admin.Count{Reason: reason, Count: n, Last: l.LastAnswers[reason].At, Detail: "answered by " + string(l.Peer), Fix: "see the lanes that the link carries"})
		}
	}
	out.Refused = append(out.Refused, counted(l.Refused, l.LastRefused)...)
	slices.SortFunc(out.Refused, func(a, b admin.Count) int { return cmp.Compare(a.Reason, b.Reason) })
	return out
}

func counted(counts map[string]uint64, last map[string]wan.Occurrence) []admin.Count {
	out := make([]admin.Count, 0, len(counts))
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, admin.Count{Reason: reason, Count: counts[reason], Last: last[reason].At, Detail: last[reason].Detail, Fix: connectionFix[reason]})
	}
	return out
}

// connections are the connections and packets that were refused, whoever they came from.
func (s service) connections() []admin.Refusal {
	out := []admin.Refusal{}
	for _, c := range counted(s.site.endpoint.Refused(), s.site.endpoint.LastRefused()) {
		out = append(out, admin.Refusal{What: "connection", Count: c})
	}
	return out
}

// connectionFix says what to do about connections that are refused for a reason; those that are missing heal by themselves.
var connectionFix = map[string]string{
	string(pki.NoCertificate):             "only a router can connect: see what runs at that address",
	string(pki.NoSiteName):                "issue the peer's certificate with cloudqueue pki issue",
	string(pki.UnknownAuthority):          "give both sites the same ca.crt, or issue the peer's certificate by our authority",
	string(pki.Expired):                   "renew the peer's certificate: cloudqueue pki issue",
	string(pki.NotYetValid):               "set the clocks of both machines",
	string(pki.BadCertificate):            "issue the peer's certificate with cloudqueue pki issue",
	string(pki.WrongFederation):           "write the same federation in both routers' files, and issue the certificate anew",
	string(pki.WrongSite):                 "correct the peer's address in the topology, or its certificate",
	wan.RefusedOurs:                       "see why at the other site: cloudqueue status; often: give both sites the same ca.crt, or issue our certificate anew with cloudqueue pki issue",
	"not-a-peer":                          "add a link between the two sites to the topology, or end the stranger's router",
	"hello-site":                          "write the site of its certificate in the peer's router file",
	"hello-federation":                    "write the same federation in both routers' files",
	"hello-version":                       "run versions of cloudqueue that are at most one apart",
	"protocol":                            "run the same version of cloudqueue at both ends; if it is: see what runs at that address",
	"half-open":                           "see what sends to the listener's port; close it to strangers at the firewall",
	"packet-not-quic":                     "see what sends to the listener's port; close it to strangers at the firewall",
	"greet-" + federation.Fenced.String(): "see the link: cloudqueue status",
	"greet-" + federation.Full.String():   "see the store: cloudqueue status",
}
