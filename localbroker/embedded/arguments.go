package embedded

// arguments describes the arguments of every method that a client may send, so that a method with a wrong one is refused
// before anything is done:
//
//	o octet or packed bits · s short · l long · L longlong · n shortstr · S longstr · T table
var arguments = map[methodID]string{
	connectionStartOK: "TnSn",
	connectionTuneOK:  "sls",
	connectionOpen:    "nno",
	connectionClose:   "snss",
	connectionCloseOK: "",
	updateSecret:      "Sn",

	channelOpen:    "n",
	channelFlow:    "o",
	channelFlowOK:  "o",
	channelClose:   "snss",
	channelCloseOK: "",

	accessRequest: "no",

	exchangeDeclare: "snnoT",
	exchangeDelete:  "sno",
	exchangeBind:    "snnnoT",
	exchangeUnbind:  "snnnoT",

	queueDeclare: "snoT",
	queueBind:    "snnnoT",
	queuePurge:   "sno",
	queueDelete:  "sno",
	queueUnbind:  "snnnT",

	basicQos:          "lso",
	basicConsume:      "snnoT",
	basicCancel:       "no",
	basicCancelOK:     "n",
	basicPublish:      "snno",
	basicGet:          "sno",
	basicAck:          "Lo",
	basicReject:       "Lo",
	basicRecoverAsync: "o",
	basicRecover:      "o",
	basicNack:         "Lo",

	confirmSelect: "o",

	txSelect:   "",
	txCommit:   "",
	txRollback: "",
}

// wellFormed reports whether raw is exactly the arguments of the method. Methods that no client sends are well formed:
// they are refused for what they are.
func wellFormed(id methodID, raw []byte) bool {
	form, known := arguments[id]
	if !known {
		return true
	}
	d := decoder{rest: raw}
	for _, kind := range form {
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
