package embedded

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// A frame on the wire:
//
//	0      1         3             7                  7+size  8+size
//	+------+---------+-------------+------------------+------+
//	| type | channel |    size     |  payload (size)  | 0xCE |
//	+------+---------+-------------+------------------+------+
//	  1 B     2 B         4 B
//
// Big endian. size is at most frame_max − 8, as tuned. A frame that breaks this ends the connection with 501.
const (
	frameMethod    = 1
	frameHeader    = 2
	frameBody      = 3
	frameHeartbeat = 8

	frameHead     = 7
	frameOverhead = 8
	frameEnd      = 0xCE

	// minFrameMax is the specification's smallest frame_max; every peer takes frames of this size before it is tuned.
	minFrameMax = 4096
)

type frameStart struct {
	kind    byte
	channel uint16
	size    int
}

// frameReader takes frames off a connection: first the head, then the payload, into memory of the caller's choice.
type frameReader struct {
	in  *bufio.Reader
	max uint32 // frame_max, the eight bytes around the payload included
}

// desync is an exception after which nothing more can be read: where the next frame begins is unknown.
type desync struct{ *exception }

// head reads the next frame's head. The error is a desync for a frame that is too large, else the connection's own.
func (r *frameReader) head() (frameStart, error) {
	raw, err := r.in.Peek(frameHead)
	if err != nil {
		return frameStart{}, err
	}
	size := binary.BigEndian.Uint32(raw[3:])
	h := frameStart{kind: raw[0], channel: binary.BigEndian.Uint16(raw[1:]), size: int(size)}
	if size > r.max-frameOverhead {
		return h, desync{badFrame(h.kind, nil, fmt.Sprintf("{frame_too_large,%d,%d}", size, r.max-frameOverhead))}
	}
	_, err = r.in.Discard(frameHead)
	return h, err
}

// payload fills p, which has the frame's size, and checks the end mark. The error is a desync for a wrong one.
func (r *frameReader) payload(h frameStart, p []byte) error {
	if _, err := io.ReadFull(r.in, p); err != nil {
		return unexpected(err)
	}
	end, err := r.in.ReadByte()
	if err != nil {
		return unexpected(err)
	}
	if end != frameEnd {
		return desync{badFrame(h.kind, p, fmt.Sprintf("{invalid_frame_end_marker,%d}", end))}
	}
	return nil
}

func unexpected(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read frame: %w", err)
}

// beginFrame appends a head whose size endFrame fills in.
func beginFrame(b []byte, kind byte, channel uint16) []byte {
	b = append(b, kind, byte(channel>>8), byte(channel))
	return append(b, 0, 0, 0, 0)
}

// endFrame closes the frame that begins at start.
func endFrame(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start+3:], uint32(len(b)-start-frameHead))
	return append(b, frameEnd)
}

func appendMethodFrame(b []byte, channel uint16, id methodID, args []byte) []byte {
	start := len(b)
	b = beginFrame(b, frameMethod, channel)
	b = appendLong(b, uint32(id))
	b = append(b, args...)
	return endFrame(b, start)
}

// appendContentFrames appends a content header and as many body frames as frameMax asks for.
//
//	header payload: class short (60) · weight short (0) · body size longlong · properties
func appendContentFrames(b []byte, channel uint16, frameMax uint32, raw, body []byte) []byte {
	start := len(b)
	b = beginFrame(b, frameHeader, channel)
	b = appendShort(b, basicClass)
	b = appendShort(b, 0)
	b = appendLonglong(b, uint64(len(body)))
	b = append(b, raw...)
	b = endFrame(b, start)
	for room := int(frameMax - frameOverhead); len(body) > 0; {
		n := min(len(body), room)
		start = len(b)
		b = beginFrame(b, frameBody, channel)
		b = append(b, body[:n]...)
		b = endFrame(b, start)
		body = body[n:]
	}
	return b
}

// heartbeatFault is nil for a heartbeat as it has to be: empty, on channel 0.
func heartbeatFault(h frameStart) error {
	if h.size > 0 {
		return fail(replyFrameError, "type %d: unknown_frame", h.kind)
	}
	if h.channel != 0 {
		return fail(replyUnexpectedFrame, "type %d, all octets = <<>>", h.kind)
	}
	return nil
}
