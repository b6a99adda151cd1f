package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits of the channel.
const (
	MaxRequest = 4 << 20   // bytes of a request: 10,000 parked IDs of 200 bytes are 2 MB
	MaxAnswer  = 256 << 20 // bytes of an answer: a parked message of 128 MiB in base64 is 171 MiB
	// MaxConnections are served at once; others wait in the kernel's queue. Idle ones end by headTimeout and idleTimeout, so a full socket
	// takes the next caller within seconds. Chosen: a few admins and probes, and few descriptors beside the router's own.
	MaxConnections = 64
	callTimeout    = time.Minute
	// A local caller that does not send its head within this is stuck (chosen: it needs microseconds).
	headTimeout = 5 * time.Second
	// A connection that asks nothing more is closed after this: the command line's asks once, a probe may keep its own for a while.
	idleTimeout = 5 * time.Second
	stopTimeout = 5 * time.Second
)

// Server serves a Service on a Unix socket.
type Server struct {
	service Service
	logger  *slog.Logger
}

// NewServer makes a server; a nil logger logs nothing.
func NewServer(service Service, logger *slog.Logger) *Server {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Server{service, logger}
}

// Run serves on the socket at path until ctx ends, then lets calls that are under way finish for a few seconds. It takes over a
// socket that nobody answers on; one that is answered is an error: another router runs in this data folder.
func (s *Server) Run(ctx context.Context, path string) error {
	listener, err := listen(ctx, path)
	if err != nil {
		return fmt.Errorf("admin socket %s: %w", path, err)
	}
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headTimeout, ReadTimeout: callTimeout, WriteTimeout: 2 * callTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 16 << 10, ConnContext: withUser, ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(limit(listener, MaxConnections)) }()
	select {
	case <-ctx.Done():
		return stop(server, done)
	case err := <-done: // nobody else closes it: the socket broke
		return fmt.Errorf("admin socket %s: %w", path, err)
	}
}

func stop(server *http.Server, done <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	if err != nil {
		err = server.Close()
	}
	if serveErr := <-done; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}

// MaxSocketPath is the most bytes of a socket's path: with the zero byte it fills what the kernel has for it (unix(7)).
const MaxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// listen makes the socket with mode 0600 under a name of its own and renames it, so that it is never open to others.
func listen(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > MaxSocketPath {
		return nil, fmt.Errorf("the path has %d bytes, a Unix socket's at most %d: choose a shorter data-dir", len(path), MaxSocketPath)
	}
	if err := refuseLive(ctx, path); err != nil {
		return nil, err
	}
	temporary := filepath.Join(filepath.Dir(path), "s"+strconv.FormatInt(int64(os.Getpid()), 36)) // not longer than admin.sock
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", temporary)
	if err != nil {
		return nil, err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(temporary, 0o600), os.Rename(temporary, path)); err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(temporary))
	}
	ours, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return removeOnClose{listener, path, ours}, nil
}

func refuseLive(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil // nobody is there, whatever the file is
	}
	return errors.Join(errors.New("another router answers on it: one data folder serves one router"), conn.Close())
}

type removeOnClose struct {
	net.Listener
	path string
	ours fs.FileInfo
}

// Close takes the name away unless a successor has put its own socket there.
func (l removeOnClose) Close() error {
	err := l.Listener.Close()
	if there, statErr := os.Lstat(l.path); statErr == nil && os.SameFile(there, l.ours) {
		err = errors.Join(err, os.Remove(l.path))
	}
	return err
}

// handler serves the calls.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+pathStatus, call(s, func(ctx context.Context, _ struct{}) (*Status, error) { return s.service.Status(ctx) }))
	mux.Handle("GET "+pathBooks, call(s, func(ctx context.Context, _ struct{}) (*Books, error) {
		books, err := s.service.Books(ctx)
		if err == nil && books.Lines == nil {
			books.Lines = []BookLine{}
		}
		return books, err
	}))
	mux.Handle("POST "+pathParked, call(s, func(ctx context.Context, f ParkFilter) (*ParkedList, error) {
		if err := f.check(); err != nil {
			return nil, err
		}
		list, err := s.service.Parked(ctx, f)
		if err == nil && list.Parked == nil {
			list.Parked = []Parked{} // [] and not null for who reads the JSON
		}
		return list, err
	}))
	mux.Handle("POST "+pathShow, call(s, func(ctx context.Context, r showRequest) (*ParkedMessage, error) {
		return s.service.ShowParked(ctx, r.ID)
	}))
	mux.Handle("POST "+pathRedrive, call(s, func(ctx context.Context, a ParkAction) (*ParkResult, error) {
		a.Who = who(ctx, a.Who)
		if err := a.Filter.check(); err != nil {
			return nil, err
		}
		return s.service.Redrive(ctx, a)
	}))
	mux.Handle("POST "+pathDrop, call(s, func(ctx context.Context, a ParkAction) (*ParkResult, error) {
		a.Who = who(ctx, a.Who)
		if err := a.Filter.check(); err != nil {
			return nil, err
		}
		return s.service.Drop(ctx, a)
	}))
	mux.Handle("POST "+pathVoid, call(s, func(ctx context.Context, r VoidRequest) (*VoidResult, error) {
		r.Who = who(ctx, r.Who)
		return s.service.Void(ctx, r)
	}))
	return mux
}

const (
	pathStatus  = "/v1/status"
	pathBooks   = "/v1/books"
	pathParked  = "/v1/parking/list"
	pathShow    = "/v1/parking/show"
	pathRedrive = "/v1/parking/redrive"
	pathDrop    = "/v1/parking/drop"
	pathVoid    = "/v1/spool/void"
)

type showRequest struct {
	ID string `json:"id"`
}

// call makes a handler of one method: it bounds the request and the time, and gives the answer or the error as JSON.
func call[Request, Answer any](s *Server, method func(context.Context, Request) (*Answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		defer cancel()
		request, err := decode[Request](w, r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		answer, err := method(ctx, request)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		s.answer(w, r, http.StatusOK, answer)
	})
}

func decode[Request any](w http.ResponseWriter, r *http.Request) (Request, error) {
	var request Request
	if r.Method == http.MethodGet {
		return request, nil
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxRequest))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&request)
	if err == nil && decoder.Decode(&struct{}{}) != io.EOF {
		err = errors.New("something follows the request")
	}
	if err != nil {
		return request, Errorf(BadRequest, "use the command line of the router's own version", "the request is not understood: %v", err)
	}
	return request, nil
}

// httpStatus of each code; anything else is 500.
var httpStatus = map[Code]int{
	BadRequest: http.StatusBadRequest, NotFound: http.StatusNotFound, Refused: http.StatusConflict, Unavailable: http.StatusServiceUnavailable,
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var told *Error
	if !errors.As(err, &told) {
		told = fromOther(err)
	}
	status, known := httpStatus[told.Code]
	if !known {
		status = http.StatusInternalServerError
		s.logger.Error("admin call failed", "call", r.URL.Path, "err", err)
	}
	s.answer(w, r, status, told)
}

func fromOther(err error) *Error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return Errorf(Unavailable, "look at the router's log and at `cloudqueue status`, then try again", "the router did not answer in time: %v", err)
	}
	return Errorf(Internal, "look at the router's log", "%s", err.Error())
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.logger.Debug("admin answer not sent", "call", r.URL.Path, "err", err) // the caller went away
	}
}

// userKey is the context's key for the user at the socket's other end.
type userKey struct{}

func withUser(ctx context.Context, conn net.Conn) context.Context {
	if p, ok := conn.(*placed); ok {
		conn = p.Conn
	}
	return context.WithValue(ctx, userKey{}, peerUser(conn))
}

// who is what goes into the audit: the user whom the kernel names, and what the caller says of itself.
func who(ctx context.Context, claimed string) string {
	user, _ := ctx.Value(userKey{}).(string)
	claimed = strings.ToValidUTF8(strings.TrimSpace(claimed), "?")
	switch {
	case user == "":
		return claimed
	case claimed == "" || claimed == user:
		return user
	}
	return user + " (" + claimed + ")"
}
