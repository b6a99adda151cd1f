package embedded

import (
	"strconv"
	"strings"
)

// methodForms describes the arguments of every method, so that one with a wrong argument is refused before anything is
// done:
//
//	o octet or packed bits · s short · l long · L longlong · n shortstr · S longstr · T table
var methodForms = map[methodID]string{
	connectionStart:     "ooTSS",
	connectionStartOK:   "TnSn",
	connectionTune:      "sls",
	connectionTuneOK:    "sls",
	connectionOpen:      "nno",
	connectionOpenOK:    "n",
	connectionClose:     "snss",
	connectionCloseOK:   "",
	connectionBlocked:   "n",
	connectionUnblocked: "",
	updateSecret:        "Sn",
	updateSecretOK:      "",

	channelOpen:    "n",
	channelOpenOK:  "S",
	channelFlow:    "o",
	channelFlowOK:  "o",
	channelClose:   "snss",
	channelCloseOK: "",

	accessRequest:   "no",
	accessRequestOK: "s",

	exchangeDeclare:   "snnoT",
	exchangeDeclareOK: "",
	exchangeDelete:    "sno",
	exchangeDeleteOK:  "",
	exchangeBind:      "snnnoT",
	exchangeBindOK:    "",
	exchangeUnbind:    "snnnoT",
	exchangeUnbindOK:  "",

	queueDeclare:   "snoT",
	queueDeclareOK: "nll",
	queueBind:      "snnnoT",
	queueBindOK:    "",
	queuePurge:     "sno",
	queuePurgeOK:   "l",
	queueDelete:    "sno",
	queueDeleteOK:  "l",
	queueUnbind:    "snnnT",
	queueUnbindOK:  "",

	basicQos:          "lso",
	basicQosOK:        "",
	basicConsume:      "snnoT",
	basicConsumeOK:    "n",
	basicCancel:       "no",
	basicCancelOK:     "n",
	basicPublish:      "snno",
	basicReturn:       "snnn",
	basicDeliver:      "nLonn",
	basicGet:          "sno",
	basicGetOK:        "Lonnl",
	basicGetEmpty:     "n",
	basicAck:          "Lo",
	basicReject:       "Lo",
	basicRecoverAsync: "o",
	basicRecover:      "o",
	basicRecoverOK:    "",
	basicNack:         "Lo",

	confirmSelect:   "o",
	confirmSelectOK: "",

	txSelect:     "",
	txSelectOK:   "",
	txCommit:     "",
	txCommitOK:   "",
	txRollback:   "",
	txRollbackOK: "",
}

// wellFormed reports whether raw is exactly the arguments of the method.
func wellFormed(id methodID, raw []byte) bool {
	d := decoder{rest: raw}
	for _, kind := range methodForms[id] {
		switch kind {
		case 'o':
			d.octet()
		case 's':
			d.short()
		case 'l':
			d.long()
		case 'L':
			d.longlong()
		case 'n':
			d.shortBytes()
		case 'S':
			d.longBytes()
		case 'T':
			if !validTable(d.longBytes(), 0) {
				return false
			}
		}
	}
	return !d.broken && len(d.rest) == 0
}

// undecodable is the exception for arguments that are not well formed.
func undecodable(raw []byte) *exception {
	return fail(replyFrameError, "cannot decode %s", octets(raw))
}

// badFrame is the exception for a frame that is wrong in itself.
func badFrame(kind byte, payload []byte, reason string) *exception {
	which, part := "all", payload
	if len(payload) > 16 {
		which, part = "first 16", payload[:16]
	}
	return fail(replyFrameError, "type %d, %s octets = %s: %s", kind, which, octets(part), reason)
}

// octets prints bytes as Erlang does, in reply texts.
func octets(b []byte) string {
	numbers := make([]string, 0, len(b))
	for _, v := range b[:min(len(b), 100)] { // a reply text has room for 255 bytes
		numbers = append(numbers, strconv.Itoa(int(v)))
	}
	return "<<" + strings.Join(numbers, ",") + ">>"
}
