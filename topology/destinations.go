package topology

import (
	"encoding/json"
	"fmt"

	"cloudqueue/federation"
)

// destinations checks where a route goes, and numbers the mapped ones.
func (b *builder) destinations(path string, in []toSchema) []target {
	if len(in) == 0 {
		b.file.Report(path, "to: [{site: nyc}]", "the route goes nowhere")
	}
	if len(in) > federation.MaxDestinations {
		b.file.Report(path, "a second route for the rest", "%d destinations, the limit is %d", len(in),
			federation.MaxDestinations)
		return nil
	}
	all := make([]target, len(in))
	for i, to := range in {
		at := fmt.Sprintf("%s[%d]", path, i)
		all[i] = target{RouteDestination: b.destination(at, to), explicit: to.Target != nil,
			at: b.file.Problem(at, "", "")}
	}
	b.checkDistinct(path, all)
	b.number(path, in, all)
	return all
}

func (b *builder) destination(path string, in toSchema) RouteDestination {
	to := RouteDestination{Destination: federation.Destination{Site: federation.SiteID(in.Site)}, Exchange: in.Exchange,
		RoutingKey: in.RoutingKey}
	if in.Site == "" {
		b.file.Report(path+".site", "{site: nyc}", "the destination has no site")
	} else {
		b.checkSite(path+".site", in.Site)
	}
	if in.Exchange != nil {
		b.checkShort(path+".exchange", "exchange", *in.Exchange)
	}
	if in.RoutingKey != nil {
		b.checkShort(path+".routing-key", "routing key", *in.RoutingKey)
	}
	if in.Queue != nil {
		to.Queue = *in.Queue
		b.checkQueue(path+".queue", to.Queue)
		if in.Exchange != nil || in.RoutingKey != nil {
			b.file.Report(path, "queue alone, or exchange and routing-key",
				"a destination is a queue or an exchange, not both")
		}
	}
	return to
}

func (d RouteDestination) mapped() bool {
	return d.Exchange != nil || d.RoutingKey != nil || d.Queue != ""
}

// mapping is a comparable name of where a destination puts messages.
func (d RouteDestination) mapping() string {
	text, err := json.Marshal([]any{d.Site, d.Exchange, d.RoutingKey, d.Queue})
	if err != nil {
		panic(err) // strings and nil
	}
	return string(text)
}

func (b *builder) checkDistinct(path string, all []target) {
	first := map[string]int{}
	for i, to := range all {
		if j, repeated := first[to.mapping()]; repeated && to.Site != "" {
			b.file.Report(fmt.Sprintf("%s[%d]", path, i), "it once, or a queue or an exchange of its own",
				"this is the same destination as to[%d]", j)
		}
		first[to.mapping()] = i
	}
}

// number gives target 0 to the plain destinations and, to the mapped ones, what `target` says or else the lowest number
// that is free, in the order of the file.
func (b *builder) number(path string, in []toSchema, all []target) {
	used := map[int]bool{}
	for i, to := range in {
		if to.Target == nil {
			continue
		}
		at := fmt.Sprintf("%s[%d].target", path, i)
		switch n := *to.Target; {
		case !all[i].mapped() && n != 0:
			b.file.Report(at, "target: 0, or nothing", "a destination with the same exchange and key is target 0")
		case !all[i].mapped():
		case n < 1 || n > 255:
			b.file.Report(at, "target: 1 to 255", "%d is not a number of a mapped destination", n)
		case used[n]:
			b.file.Report(at, "a number of its own, never one that the route had before", "target %d stands here twice",
				n)
		default:
			used[n] = true
			all[i].Target = uint8(n)
		}
	}
	next := 1
	for i := range all {
		if !all[i].mapped() || in[i].Target != nil {
			continue
		}
		for used[next] {
			next++
		}
		used[next] = true
		all[i].Target = uint8(next)
	}
}
