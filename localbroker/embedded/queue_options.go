package embedded

import (
	"fmt"
	"slices"
	"time"
)

// overflow is what a full queue does (x-overflow).
type overflow string

const (
	overflowDropHead         overflow = "drop-head"
	overflowReject           overflow = "reject-publish"
	overflowRejectDeadLetter overflow = "reject-publish-dlx"
)

// queueOptions are the arguments of queue.declare that the broker follows. Limits are negative when they are not set.
type queueOptions struct {
	ttl            time.Duration // x-message-ttl
	expires        time.Duration // x-expires
	maxLength      int64         // x-max-length
	maxBytes       int64         // x-max-length-bytes
	overflow       overflow      // x-overflow
	hasDeadLetter  bool          // x-dead-letter-exchange is set, maybe to ""
	deadLetter     string
	hasDeadKey     bool // x-dead-letter-routing-key is set
	deadKey        string
	maxPriority    uint8 // x-max-priority
	singleConsumer bool  // x-single-active-consumer
}

// maxExpiry is RabbitMQ's upper bound for times (ten years).
const maxExpiry = 315_360_000_000 * time.Millisecond

// declareArguments are checked in this order, and compared when a queue is declared again.
var declareArguments = []struct {
	name  string
	check func(o *queueOptions, v value, args table) string // "" or RabbitMQ's reason
}{
	{"x-queue-type", checkQueueType},
	{"x-expires", func(o *queueOptions, v value, _ table) string { return setMilliseconds(&o.expires, v, 1) }},
	{"x-message-ttl", func(o *queueOptions, v value, _ table) string { return setMilliseconds(&o.ttl, v, 0) }},
	{"x-dead-letter-exchange", checkDeadLetter},
	{"x-dead-letter-routing-key", checkDeadKey},
	{"x-max-length", func(o *queueOptions, v value, _ table) string { return setCount(&o.maxLength, v) }},
	{"x-max-length-bytes", func(o *queueOptions, v value, _ table) string { return setCount(&o.maxBytes, v) }},
	{"x-max-priority", checkMaxPriority},
	{"x-overflow", checkOverflow},
	{"x-queue-mode", checkQueueMode},
	{"x-queue-version", checkQueueVersion},
	{"x-queue-master-locator", func(*queueOptions, value, table) string { return "" }},
	{"x-single-active-consumer", checkSingleConsumer},
}

// otherTypesArguments belong to RabbitMQ's quorum queues and streams; a classic queue does not take them.
var otherTypesArguments = []string{
	"x-delivery-limit", "x-quorum-initial-group-size", "x-initial-cluster-size", "x-queue-leader-locator",
	"x-dead-letter-strategy",
	"x-max-in-memory-length", "x-max-in-memory-bytes", "x-max-age", "x-stream-max-segment-size-bytes",
}

// parseQueueOptions reads the arguments of queue.declare. Arguments that it does not know are kept and ignored, as
// RabbitMQ does.
func parseQueueOptions(name, vhost string, args table) (queueOptions, *exception) {
	o := queueOptions{ttl: -1, expires: -1, maxLength: -1, maxBytes: -1, overflow: overflowDropHead}
	if v := args.get("x-dead-letter-exchange"); v != nil && v.kind() != 'S' {
		return o, fail(replyPreconditionFailed, "invalid type '%s' for arg 'x-dead-letter-exchange' in queue '%s' in vhost '%s'",
			v.typeName(), name, vhost)
	}
	for _, a := range declareArguments {
		v := args.get(a.name)
		if v == nil {
			continue
		}
		if reason := a.check(&o, v, args); reason != "" {
			return o, fail(replyPreconditionFailed, "invalid arg '%s' for queue '%s' in vhost '%s': %s", a.name, name,
				vhost, reason)
		}
	}
	return o, refuseArguments(args, otherTypesArguments, name, vhost)
}

func refuseArguments(args table, names []string, queue, vhost string) *exception {
	for _, f := range args {
		if slices.Contains(names, f.name) {
			return fail(replyPreconditionFailed, "invalid arg '%s' for queue '%s' in vhost '%s' of queue type rabbit_classic_queue",
				f.name, queue, vhost)
		}
	}
	return nil
}

func checkQueueType(_ *queueOptions, v value, _ table) string {
	text, ok := v.text()
	if !ok {
		return fmt.Sprintf("{unacceptable_type,%s}", v.typeName())
	}
	if text != "classic" {
		return fmt.Sprintf("\"unsupported queue type '%s'\"", text)
	}
	return ""
}

func setMilliseconds(d *time.Duration, v value, least int64) string {
	var ms int64
	if reason := setCount(&ms, v); reason != "" {
		return reason
	}
	if ms < least {
		return fmt.Sprintf("{value_zero,%d}", ms)
	}
	if ms > maxExpiry.Milliseconds() {
		return fmt.Sprintf("{value_too_large,%d}", ms)
	}
	*d = time.Duration(ms) * time.Millisecond
	return ""
}

func setCount(n *int64, v value) string {
	count, ok := v.integer()
	if !ok {
		return fmt.Sprintf("\"expected integer, got %s\"", v.typeName())
	}
	if count < 0 {
		return fmt.Sprintf("{value_negative,%d}", count)
	}
	*n = count
	return ""
}

func checkDeadLetter(o *queueOptions, v value, _ table) string {
	return setText(&o.deadLetter, &o.hasDeadLetter, v)
}

func checkDeadKey(o *queueOptions, v value, args table) string {
	if args.get("x-dead-letter-exchange") == nil {
		return "routing_key_but_no_dlx_defined"
	}
	return setText(&o.deadKey, &o.hasDeadKey, v)
}

func setText(s *string, has *bool, v value) string {
	text, ok := v.text()
	if !ok {
		return fmt.Sprintf("{unacceptable_type,%s}", v.typeName())
	}
	*s, *has = text, true
	return ""
}

func checkMaxPriority(o *queueOptions, v value, _ table) string {
	var n int64
	if reason := setCount(&n, v); reason != "" {
		return reason
	}
	if n > 255 {
		return fmt.Sprintf("{max_value_exceeded,%d}", n)
	}
	o.maxPriority = uint8(n)
	return ""
}

func checkOverflow(o *queueOptions, v value, _ table) string {
	text, ok := v.text()
	if !ok {
		return fmt.Sprintf("{unacceptable_type,%s}", v.typeName())
	}
	switch mode := overflow(text); mode {
	case overflowDropHead, overflowReject, overflowRejectDeadLetter:
		o.overflow = mode
		return ""
	}
	return "invalid_overflow"
}

func checkQueueMode(_ *queueOptions, v value, _ table) string {
	text, ok := v.text()
	if !ok {
		return fmt.Sprintf("{unacceptable_type,%s}", v.typeName())
	}
	if text != "default" && text != "lazy" {
		return fmt.Sprintf("\"unsupported queue mode '%s'\"", text)
	}
	return ""
}

func checkQueueVersion(_ *queueOptions, v value, _ table) string {
	var n int64
	if reason := setCount(&n, v); reason != "" {
		return reason
	}
	if n != 1 && n != 2 {
		return fmt.Sprintf("\"unsupported queue version '%d'\"", n)
	}
	return ""
}

func checkSingleConsumer(o *queueOptions, v value, _ table) string {
	on, ok := v.boolean()
	if !ok {
		return fmt.Sprintf("{unacceptable_type,%s}", v.typeName())
	}
	o.singleConsumer = on
	return ""
}
