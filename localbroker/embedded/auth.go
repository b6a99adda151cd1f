package embedded

import (
	"bytes"
	"crypto/subtle"
)

// authenticate returns the user of a login.
//
//	PLAIN     NUL user NUL password (RFC 4616; RabbitMQ ignores an authorization identity before the first NUL)
//	AMQPLAIN  the content of a table with LOGIN and PASSWORD
func (b *Broker) authenticate(mechanism string, response []byte) (string, *exception) {
	user, password := "", ""
	switch mechanism {
	case "PLAIN":
		user, password = plain(response)
	case "AMQPLAIN":
		t, _ := parseTable(response)
		user, _ = t.get("LOGIN").text()
		password, _ = t.get("PASSWORD").text()
	default:
		return "", fail(replyCommandInvalid, "unknown authentication mechanism '%s'", mechanism)
	}
	known, ok := b.users[user]
	same := subtle.ConstantTimeCompare([]byte(known.Password), []byte(password)) == 1
	if !ok || !same {
		return "", fail(replyAccessRefused, "Login was refused using authentication mechanism %s. "+
			"For details see the broker logfile.", mechanism)
	}
	return user, nil
}

func plain(response []byte) (user, password string) {
	parts := bytes.SplitN(response, []byte{0}, 3)
	if len(parts) != 3 {
		return "", ""
	}
	return string(parts[1]), string(parts[2])
}
