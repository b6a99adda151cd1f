// Package udpproxy stands between two routers and can cut, heal, delay and count their link.
//
//	router that dials ──► Proxy (127.0.0.1:p) ──► router that listens
//	                   ◄──     one socket per     ◄──
//	                           dialling address
//
// A topology names the proxy's address in place of the listening router's; neither router knows. Datagrams are passed
// one by one, unread. Cut drops all of them silently in both directions, as a broken line does: no router is told.
//
// Memory is bounded: a delayed datagram waits in a queue of Config.QueueBytes per direction and is dropped when that is
// full, as at a real bottleneck; the number of dialling addresses is bounded by Config.Flows.
//
// What it does not do: lose at random, limit the rate, or reorder. Start reading at Proxy.
package udpproxy
