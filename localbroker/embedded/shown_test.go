package embedded

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"strings"
)

// shownMethod prints a method of the broker.
func shownMethod(id methodID, d *decoder) string {
	name := methodNames[id]
	switch id {
	case connectionStart:
		d.octet()
		d.octet()
		d.longBytes()
		return fmt.Sprintf("start mechanisms=%q", sortedWords(string(d.longBytes())))
	case connectionTune:
		return fmt.Sprintf("tune channel-max=%d frame-max=%d heartbeat=%d", d.short(), d.long(), d.short())
	case connectionClose, channelClose:
		code, text := d.short(), d.shortString()
		return fmt.Sprintf("%s %d %q %s", name, code, text, methodNames[methodID(d.long())])
	case connectionBlocked:
		return name // the reason is the broker's own
	case queueDeclareOK:
		return fmt.Sprintf("%s %s messages=%d consumers=%d", name, d.shortString(), d.long(), d.long())
	case queueDeleteOK, queuePurgeOK:
		return fmt.Sprintf("%s messages=%d", name, d.long())
	case basicConsumeOK, basicCancelOK:
		return fmt.Sprintf("%s %s", name, d.shortString())
	case basicCancel:
		return fmt.Sprintf("%s %s no-wait=%v", name, d.shortString(), d.bits().has(0))
	case basicDeliver:
		ctag, tag, redelivered := d.shortString(), d.longlong(), d.bits().has(0)
		return fmt.Sprintf("deliver %s %d%s %q %q", ctag, tag, optional(redelivered, " redelivered"), d.shortString(), d.shortString())
	case basicGetOK:
		tag, redelivered, exchange, key := d.longlong(), d.bits().has(0), d.shortString(), d.shortString()
		return fmt.Sprintf("get-ok %d%s %q %q left=%d", tag, optional(redelivered, " redelivered"), exchange, key, d.long())
	case basicReturn:
		return fmt.Sprintf("return %d %q %q %q", d.short(), d.shortString(), d.shortString(), d.shortString())
	case channelFlowOK:
		return fmt.Sprintf("%s %d", name, d.octet())
	}
	if name == "" {
		return fmt.Sprintf("method %d.%d", id>>16, id&0xffff)
	}
	return name
}

func sortedWords(s string) string {
	words := strings.Fields(s)
	sort.Strings(words)
	return strings.Join(words, " ")
}

func optional(on bool, text string) string {
	if on {
		return text
	}
	return ""
}

// shownProperties prints a property list, one name=value each.
func shownProperties(raw []byte) string {
	p, ok := scanProperties(raw)
	if !ok {
		return fmt.Sprintf(" properties(%x)", raw)
	}
	var b strings.Builder
	for which := property(0); which < propCount; which++ {
		if !p.has(which) {
			continue
		}
		fmt.Fprintf(&b, " %s=%s", propertyNames[which], shownProperty(&p, which))
	}
	return b.String()
}

func shownProperty(p *properties, which property) string {
	switch which {
	case propHeaders:
		return shownTable(p.headers())
	case propDeliveryMode, propPriority:
		return fmt.Sprint(p.octet(which))
	case propTimestamp:
		return fmt.Sprint(binary.BigEndian.Uint64(p.span(which)))
	}
	return fmt.Sprintf("%q", p.text(which))
}

// shownTable sorts the fields: RabbitMQ sorts tables that it changes.
func shownTable(t table) string {
	parts := make([]string, 0, len(t))
	for _, f := range t {
		text := shownValue(f.value)
		if f.name == "time" && f.value.kind() == 'T' {
			text = "T:…"
		}
		parts = append(parts, f.name+"="+text)
	}
	sort.Strings(parts)
	return "{" + strings.Join(parts, " ") + "}"
}

func shownValue(v value) string {
	kind := string(v.kind())
	switch v.kind() {
	case 'V':
		return "V"
	case 't':
		b, _ := v.boolean()
		return fmt.Sprintf("t:%v", b)
	case 'S', 'x':
		return fmt.Sprintf("%s:%q", kind, v[5:])
	case 'T':
		return fmt.Sprintf("T:%d", binary.BigEndian.Uint64(v[1:]))
	case 'f':
		return fmt.Sprintf("f:%v", math.Float32frombits(binary.BigEndian.Uint32(v[1:])))
	case 'd':
		return fmt.Sprintf("d:%v", math.Float64frombits(binary.BigEndian.Uint64(v[1:])))
	case 'F':
		t, _ := v.table()
		return "F" + shownTable(t)
	case 'A':
		elements, _ := v.array()
		parts := make([]string, len(elements))
		for i, e := range elements {
			parts[i] = shownValue(e)
		}
		return "A[" + strings.Join(parts, " ") + "]"
	}
	if n, ok := v.integer(); ok {
		return fmt.Sprintf("%s:%d", kind, n)
	}
	return fmt.Sprintf("%s:%x", kind, []byte(v[1:]))
}

var propertyNames = [propCount]string{
	"content-type", "content-encoding", "headers", "delivery-mode", "priority", "correlation-id", "reply-to", "expiration",
	"message-id", "timestamp", "type", "user-id", "app-id", "cluster-id",
}

var methodNames = map[methodID]string{
	0: "-", connectionStartOK: "connection.start-ok", connectionTuneOK: "connection.tune-ok", connectionOpen: "connection.open", connectionOpenOK: "connection.open-ok",
	connectionClose: "connection.close", connectionCloseOK: "connection.close-ok",
	connectionBlocked: "connection.blocked", connectionUnblocked: "connection.unblocked", updateSecretOK: "connection.update-secret-ok",
	channelOpen: "channel.open", channelOpenOK: "channel.open-ok", channelFlow: "channel.flow", channelFlowOK: "channel.flow-ok", channelClose: "channel.close", channelCloseOK: "channel.close-ok",
	accessRequest: "access.request", accessRequestOK: "access.request-ok",
	exchangeDeclare: "exchange.declare", exchangeDeclareOK: "exchange.declare-ok", exchangeDelete: "exchange.delete", exchangeDeleteOK: "exchange.delete-ok",
	exchangeBind: "exchange.bind", exchangeBindOK: "exchange.bind-ok", exchangeUnbind: "exchange.unbind", exchangeUnbindOK: "exchange.unbind-ok",
	queueDeclare: "queue.declare", queueDeclareOK: "queue.declare-ok", queueBind: "queue.bind", queueBindOK: "queue.bind-ok",
	queuePurge: "queue.purge", queuePurgeOK: "queue.purge-ok", queueDelete: "queue.delete", queueDeleteOK: "queue.delete-ok",
	queueUnbind: "queue.unbind", queueUnbindOK: "queue.unbind-ok",
	basicQos: "basic.qos", basicQosOK: "basic.qos-ok", basicConsume: "basic.consume", basicConsumeOK: "basic.consume-ok", basicCancel: "basic.cancel", basicCancelOK: "basic.cancel-ok",
	basicPublish: "basic.publish", basicGet: "basic.get", basicGetEmpty: "basic.get-empty", basicAck: "basic.ack", basicReject: "basic.reject", basicNack: "basic.nack",
	basicRecoverAsync: "basic.recover-async", basicRecover: "basic.recover", basicRecoverOK: "basic.recover-ok",
	confirmSelect: "confirm.select", confirmSelectOK: "confirm.select-ok",
	txSelect: "tx.select", txSelectOK: "tx.select-ok", txCommit: "tx.commit", txCommitOK: "tx.commit-ok", txRollback: "tx.rollback", txRollbackOK: "tx.rollback-ok",
}
