package embedded

import "fmt"

// replyCode is an AMQP reply code (specification, "Protocol constants").
type replyCode uint16

const (
	replyNoRoute            replyCode = 312
	replyConnectionForced   replyCode = 320
	replyAccessRefused      replyCode = 403
	replyNotFound           replyCode = 404
	replyResourceLocked     replyCode = 405
	replyPreconditionFailed replyCode = 406
	replyFrameError         replyCode = 501
	replySyntaxError        replyCode = 502
	replyCommandInvalid     replyCode = 503
	replyChannelError       replyCode = 504
	replyUnexpectedFrame    replyCode = 505
	replyResourceError      replyCode = 506
	replyNotAllowed         replyCode = 530
	replyNotImplemented     replyCode = 540
	replyInternalError      replyCode = 541
)

var replyNames = map[replyCode]string{
	replyNoRoute:            "NO_ROUTE",
	replyConnectionForced:   "CONNECTION_FORCED",
	replyAccessRefused:      "ACCESS_REFUSED",
	replyNotFound:           "NOT_FOUND",
	replyResourceLocked:     "RESOURCE_LOCKED",
	replyPreconditionFailed: "PRECONDITION_FAILED",
	replyFrameError:         "FRAME_ERROR",
	replySyntaxError:        "SYNTAX_ERROR",
	replyCommandInvalid:     "COMMAND_INVALID",
	replyChannelError:       "CHANNEL_ERROR",
	replyUnexpectedFrame:    "UNEXPECTED_FRAME",
	replyResourceError:      "RESOURCE_ERROR",
	replyNotAllowed:         "NOT_ALLOWED",
	replyNotImplemented:     "NOT_IMPLEMENTED",
	replyInternalError:      "INTERNAL_ERROR",
}

// endsConnection reports whether the specification makes the code a connection ("hard") exception.
func (c replyCode) endsConnection() bool {
	switch c {
	case replyAccessRefused, replyNotFound, replyResourceLocked, replyPreconditionFailed:
		return false
	}
	return true
}

// exception is what the broker answers to a client's mistake: it closes the channel or, for the hard codes, the
// connection.
type exception struct {
	code replyCode
	text string
}

// fail makes an exception whose text begins with the code's name, as RabbitMQ's texts do.
func fail(code replyCode, format string, args ...any) *exception {
	return &exception{code: code, text: replyNames[code] + " - " + fmt.Sprintf(format, args...)}
}

// Error is the reply text, so that an exception can be logged and wrapped like an error.
func (e *exception) Error() string { return e.text }

// during is the method that a close names. RabbitMQ names none when it refuses to open a channel at all, and when a
// process of its own dies of a message.
func (e *exception) during(id methodID) methodID {
	if e.code == replyNotAllowed && id == channelOpen || e.code == replyInternalError {
		return 0
	}
	return id
}

// appendClose appends the arguments of connection.close and channel.close, which are the same.
//
//	reply-code short · reply-text shortstr · class-id short · method-id short (of the method that failed, or 0)
func (e *exception) appendClose(b []byte, failed methodID) []byte {
	b = appendShort(b, uint16(e.code))
	b = appendShortString(b, e.text)
	return appendLong(b, uint32(failed))
}
