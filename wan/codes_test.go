package wan

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/quic-go/quic-go"
)

func TestWhatEndsAConnectionIsNoMistakeOfItsStreams(t *testing.T) {
	for _, err := range []error{
		&quic.ApplicationError{Remote: true, ErrorCode: 1, ErrorMessage: "drained"}, &quic.ApplicationError{}, &quic.TransportError{Remote: true},
		&quic.IdleTimeoutError{}, &quic.StatelessResetError{}, quic.ErrTransportClosed,
	} {
		if !connectionEnded(err) {
			t.Errorf("%T: it ends a connection", err)
		}
	}
	for _, err := range []error{&quic.StreamError{Remote: true}, io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, errors.New("other"), protocolError("other")} {
		if connectionEnded(err) {
			t.Errorf("%T %v: it ends no connection", err, err)
		}
	}
}
