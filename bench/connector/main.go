// A client and a server, as images/request and images/serve are, which need a third of the time for a connection. So the client sees
// when rules change to two tenths of a millisecond.
//
// connector connect ADDRESS PORT RATE SECONDS: makes new TCP connections and prints a JSON line for each. On SIGUSR1, it connects
// without a pause until another server than before has answered often enough, or for a while. The lines of that time are printed at its
// end, so that their reader does not disturb what is measured.
//
// connector flood ADDRESS PORT SECONDS: several clients connect without a pause. Prints how many connections they made, and the errors of
// those without a response.
//
// connector serve PORT NAME=ADDRESS...: sends each client the name of the address that it has called. Prints a line when it is ready.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	// Until a connection counts as hung.
	timeout = 2 * time.Second
	// Until the next connection does not wait for this one.
	patience = 20 * time.Millisecond
	// Answers in a row after which the other server has taken over.
	settled = 12
	// The longest time without pauses.
	longest = 150 * time.Millisecond
	// Clients of a flood.
	several = 4
)

var words = map[syscall.Errno]string{
	syscall.ECONNREFUSED:  "refused",
	syscall.ECONNRESET:    "reset",
	syscall.EPIPE:         "reset",
	syscall.ETIMEDOUT:     "timeout",
	syscall.EINPROGRESS:   "timeout",
	syscall.EAGAIN:        "timeout",
	syscall.EHOSTUNREACH:  "unreachable",
	syscall.ENETUNREACH:   "unreachable",
	syscall.EADDRNOTAVAIL: "no-port",
}

// The server of the latest answer, and how many in a row it has given.
type streak struct {
	name  string
	count int
}

type client struct {
	server syscall.SockaddrInet4
	lock   sync.Mutex
	out    *bufio.Writer
	held   bool
	latest streak
}

func main() {
	switch {
	case len(os.Args) == 6 && os.Args[1] == "connect":
		connect(os.Args[2], number(os.Args[3]), number(os.Args[4]), number(os.Args[5]))
	case len(os.Args) == 5 && os.Args[1] == "flood":
		flood(os.Args[2], number(os.Args[3]), number(os.Args[4]))
	case len(os.Args) > 3 && os.Args[1] == "serve":
		fail(serve(number(os.Args[2]), os.Args[3:]))
	default:
		fail(errors.New("usage: connector connect ADDRESS PORT RATE SECONDS | flood ADDRESS PORT SECONDS | serve PORT NAME=ADDRESS..."))
	}
}

func connect(address string, port, rate, seconds int) {
	c := &client{server: syscall.SockaddrInet4{Port: port}, out: bufio.NewWriter(os.Stdout)}
	copy(c.server.Addr[:], net.ParseIP(address).To4())
	hurry := make(chan os.Signal, 1)
	signal.Notify(hurry, syscall.SIGUSR1)
	pause := time.Second / time.Duration(rate)
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for due := time.Now(); due.Before(end); due = due.Add(pause) {
		select {
		case <-hurry:
			c.burst()
			due = time.Now()
		case <-time.After(time.Until(due)):
			c.connect()
		}
	}
}

func flood(address string, port, seconds int) {
	c := &client{server: syscall.SockaddrInet4{Port: port}}
	copy(c.server.Addr[:], net.ParseIP(address).To4())
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	made, errs := 0, map[string]int{}
	var clients sync.WaitGroup
	for range several {
		clients.Go(func() {
			for time.Now().Before(end) {
				_, err := c.ask()
				c.lock.Lock()
				made++
				if err != nil {
					errs[wordOf(err)]++
				}
				c.lock.Unlock()
			}
		})
	}
	clients.Wait()
	json.NewEncoder(os.Stdout).Encode(map[string]any{"made": made, "errors": errs})
}

// Returns only if it fails. One thread, without Go's network poller: a connection is a few system calls.
func serve(port int, places []string) error {
	names := map[[4]byte][]byte{}
	for _, place := range places {
		name, address, _ := strings.Cut(place, "=")
		names[[4]byte(net.ParseIP(address).To4())] = []byte(name + "\n")
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Port: port}); err != nil {
		return err
	}
	if err := syscall.Listen(socket, 4096); err != nil {
		return err
	}
	fmt.Println("serving")
	for {
		connection, _, err := syscall.Accept(socket)
		if err == syscall.EINTR || err == syscall.ECONNABORTED {
			continue
		}
		if err != nil {
			return err
		}
		own, _ := syscall.Getsockname(connection)
		if called, ok := own.(*syscall.SockaddrInet4); ok {
			syscall.Write(connection, names[called.Addr])
		}
		syscall.Close(connection)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil || value <= 0 {
		fail(fmt.Errorf("%s: expected a number above 0", text))
	}
	return value
}

func (c *client) burst() {
	before := c.hold(true)
	for end := time.Now().Add(longest); time.Now().Before(end); {
		c.connect()
		c.lock.Lock()
		now := c.latest
		c.lock.Unlock()
		if now.name != before && now.count >= settled {
			break
		}
	}
	c.hold(false)
}

// Prints lines later from now on, or all of them now. Returns the server of the latest answer.
func (c *client) hold(held bool) string {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.held = held
	c.out.Flush()
	return c.latest.name
}

// Makes one connection, and does not wait long for its end.
func (c *client) connect() {
	done := make(chan struct{})
	go func() {
		at := monotonic()
		name, err := c.ask()
		c.report(at, monotonic()-at, name, err)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
}

// One connection: the name of the server, or the word for what went wrong.
func (c *client) ask() (string, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer syscall.Close(socket)
	limit := syscall.NsecToTimeval(int64(timeout))
	syscall.SetsockoptTimeval(socket, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &limit)
	syscall.SetsockoptTimeval(socket, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit)
	if err := uninterrupted(func() error { return syscall.Connect(socket, &c.server) }); err != nil {
		return "", err
	}
	answer, n := make([]byte, 256), 0
	read := func() (err error) {
		n, err = syscall.Read(socket, answer)
		return err
	}
	if err := uninterrupted(read); err != nil {
		return "", err
	}
	// The server closes first; so its side, which has many addresses, keeps the connection in TIME_WAIT.
	syscall.Read(socket, make([]byte, 1))
	name, _, found := bytes.Cut(answer[:n], []byte("\n"))
	if !found {
		return "", errors.New("closed")
	}
	return string(name), nil
}

// Calls again after each signal, of which Go's scheduler sends some: a call with a timeout does not continue by itself.
func uninterrupted(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}

func (c *client) report(at, took int64, name string, err error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	result := fmt.Sprintf(`"name":%q`, name)
	if err != nil {
		result = fmt.Sprintf(`"error":%q`, wordOf(err))
	} else if c.latest.name == name {
		c.latest.count++
	} else {
		c.latest = streak{name, 1}
	}
	fmt.Fprintf(c.out, "{\"at\":%.3f,%s,\"ms\":%.3f}\n", milliseconds(at), result, milliseconds(took))
	if !c.held {
		c.out.Flush()
	}
}

func wordOf(err error) string {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return err.Error()
	}
	if word, ok := words[number]; ok {
		return word
	}
	return "failed"
}

func milliseconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1e6 }

// Nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
func monotonic() int64 {
	var now syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}
