package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Client calls a router's Server. It implements Service. Errors are *Error where the router said so, and wrap ErrUnreachable
// when no router answered; the context bounds each call.
type Client struct {
	http *http.Client
	path string
}

var _ Service = (*Client)(nil)

// ErrUnreachable tells that no router answers on the socket.
var ErrUnreachable = errors.New("no router answers")

// NewClient makes a client of the socket at path. Nothing is dialled before the first call.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
	}
	return &Client{&http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConns: 1, DisableCompression: true}}, path}
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks for everything that the router knows of itself.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	return ask[Status](ctx, c, http.MethodGet, pathStatus, nil)
}

// Books asks for the balance.
func (c *Client) Books(ctx context.Context) (*Books, error) {
	return ask[Books](ctx, c, http.MethodGet, pathBooks, nil)
}

// Parked asks for a part of the parking.
func (c *Client) Parked(ctx context.Context, filter ParkFilter) (*ParkedList, error) {
	return ask[ParkedList](ctx, c, http.MethodPost, pathParked, filter)
}

// ShowParked asks for one parked message.
func (c *Client) ShowParked(ctx context.Context, id string) (*ParkedMessage, error) {
	return ask[ParkedMessage](ctx, c, http.MethodPost, pathShow, showRequest{id})
}

// Redrive publishes parked messages again, flagged.
func (c *Client) Redrive(ctx context.Context, action ParkAction) (*ParkResult, error) {
	return ask[ParkResult](ctx, c, http.MethodPost, pathRedrive, action)
}

// Drop gives parked messages up.
func (c *Client) Drop(ctx context.Context, action ParkAction) (*ParkResult, error) {
	return ask[ParkResult](ctx, c, http.MethodPost, pathDrop, action)
}

// Void gives offsets up.
func (c *Client) Void(ctx context.Context, request VoidRequest) (*VoidResult, error) {
	return ask[VoidResult](ctx, c, http.MethodPost, pathVoid, request)
}

func ask[Answer any](ctx context.Context, c *Client, method, path string, request any) (*Answer, error) {
	var body bytes.Buffer
	if request != nil {
		if err := json.NewEncoder(&body).Encode(request); err != nil {
			return nil, fmt.Errorf("call %s: %w", path, err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://router"+path, &body)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", path, err)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer response.Body.Close() // read only
	answer := new(Answer)
	if err := readAnswer(response, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// unreachable lets a context's own end go back as it is.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var dial *net.OpError
	if errors.As(err, &dial) {
		err = dial.Err // without the URL, which says nothing here
	}
	return fmt.Errorf("%w on %s: %w", ErrUnreachable, c.path, err)
}

func readAnswer(response *http.Response, answer any) error {
	b, err := io.ReadAll(io.LimitReader(response.Body, MaxAnswer+1))
	if err != nil {
		return fmt.Errorf("read the router's answer: %w", err)
	}
	if len(b) > MaxAnswer {
		return fmt.Errorf("the router's answer has over %d bytes", MaxAnswer)
	}
	if response.StatusCode == http.StatusOK {
		return json.Unmarshal(b, answer)
	}
	told := new(Error)
	if err := json.Unmarshal(b, told); err != nil || told.Message == "" {
		return Errorf(Internal, "use the command line of the router's own version", "the router answered %s", response.Status)
	}
	return told
}
