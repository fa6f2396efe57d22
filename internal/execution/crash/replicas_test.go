package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/execution/server"
	"assay/store"
)

// A store of three servers that know nothing of each other: its client writes each record to all of them.
// None syncs. What a client waits for decides what the loss of one of them takes.
type replicas struct {
	name string
	acks int // servers that have a write before it is acknowledged
}

const (
	asReplica     = "replica"
	replicaCount  = 3
	keepsStarting = "starts-again"
	startsOnce    = "starts-once" // does not start where it has started before
)

var (
	ackedByTwo     = replicas{"replicas-two", 2}
	ackedByOne     = replicas{"replicas-one", 1} // claims what it does not do
	replicaDrivers = []store.Driver{ackedByTwo, ackedByOne}
)

func (r replicas) Describe() store.Description {
	return store.Description{Name: r.name, Summary: "three servers for tests", Version: "1", Licence: "none", Kind: store.Server,
		Durability: []store.DurabilityClaim{{Class: store.D3, How: "not at all"}, {Class: store.D4, How: "two servers have a write before it is acknowledged"}}}
}

func (r replicas) Open(_ context.Context, c store.Config) (store.Store, error) {
	return &replicaStore{r, c.Endpoints}, nil
}

type replicaStore struct {
	replicas
	endpoints []string
}

func (s *replicaStore) Settings() map[string]string {
	return map[string]string{"acks": fmt.Sprint(s.acks)}
}
func (s *replicaStore) Close() error { return nil }

func (s *replicaStore) Handle() (store.Handle, error) {
	h := &replicaHandle{acks: s.acks}
	for _, endpoint := range s.endpoints {
		c, err := net.Dial("tcp", endpoint)
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
		h.servers = append(h.servers, &replicaClient{connection: c, answers: json.NewDecoder(bufio.NewReader(c)),
			requests: json.NewEncoder(c)})
	}
	return h, nil
}

// replicaRecord is a request, and what answers it. Version 0 asks.
type replicaRecord struct {
	Key, Value []byte
	Version    int64
	Deleted    bool
}

type replicaClient struct {
	mu         sync.Mutex
	connection net.Conn
	answers    *json.Decoder
	requests   *json.Encoder
}

func (c *replicaClient) ask(r replicaRecord) (answer replicaRecord, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err = errors.Join(c.requests.Encode(r), c.answers.Decode(&answer))
	return answer, err
}

type replicaHandle struct {
	acks    int
	servers []*replicaClient
	asking  sync.WaitGroup
}

func (h *replicaHandle) Close() (err error) {
	h.asking.Wait()
	for _, s := range h.servers {
		err = errors.Join(err, s.connection.Close())
	}
	return err
}

// ask asks the servers from one on, and returns the newest answer once enough have answered.
func (h *replicaHandle) ask(r replicaRecord, from, enough int) (newest replicaRecord, err error) {
	type answer struct {
		replicaRecord
		error
	}
	answers := make(chan answer, len(h.servers))
	for i := range h.servers {
		h.asking.Go(func() {
			if h.acks == 1 && r.Version > 0 && i > 0 {
				time.Sleep(20 * time.Millisecond) // the others get it when there is time
			}
			got, err := h.servers[(from+i)%len(h.servers)].ask(r)
			answers <- answer{got, err}
		})
	}
	for left := len(h.servers); enough > 0; left-- {
		if left == 0 {
			return newest, errors.Join(errors.New("too few servers answer"), err)
		}
		switch a := <-answers; {
		case a.error != nil:
			err = errors.Join(err, a.error)
		default:
			if enough--; a.Version > newest.Version {
				newest = a.replicaRecord
			}
		}
	}
	return newest, nil
}

func (h *replicaHandle) write(r replicaRecord) error {
	sum := fnv.New32()
	_, _ = sum.Write(r.Key) // it never fails
	r.Version = time.Now().UnixNano()
	_, err := h.ask(r, int(sum.Sum32()%replicaCount), h.acks)
	return err
}

func (h *replicaHandle) Put(key, value []byte) error {
	return h.write(replicaRecord{Key: append([]byte(nil), key...), Value: append([]byte(nil), value...)})
}

func (h *replicaHandle) Delete(key []byte) error {
	return h.write(replicaRecord{Key: append([]byte(nil), key...), Deleted: true})
}

func (h *replicaHandle) Get(key, _ []byte) ([]byte, error) {
	r, err := h.ask(replicaRecord{Key: append([]byte(nil), key...)}, 0, replicaCount-1)
	if err == nil && (r.Version == 0 || r.Deleted) {
		err = store.ErrNotFound
	}
	return r.Value, err
}

// replica is one of the servers.
func replica(arguments []string) (status int) {
	if arguments[0] == "--version" {
		fmt.Println("replica 1.0.0")
		return 0
	}
	if err := serveReplica(arguments[0], arguments[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

func serveReplica(how, endpoint string) error {
	if _, err := os.Stat("started"); err == nil && how == startsOnce {
		return errors.New("the log descriptor can't be read")
	}
	log, err := os.OpenFile("log", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err := os.WriteFile("started", nil, 0o600); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, unix.SIGTERM)
	go func() {
		<-asked // an end in order
		_ = os.Remove("started")
		os.Exit(0)
	}()
	var mu sync.Mutex
	records := map[string]replicaRecord{}
	put := func(r replicaRecord) {
		if r.Version > records[string(r.Key)].Version {
			records[string(r.Key)] = r
		}
	}
	before := json.NewDecoder(bufio.NewReader(log))
	for r := (replicaRecord{}); before.Decode(&r) == nil; r = (replicaRecord{}) { // up to what a cut has left of it
		put(r)
	}
	listener, err := net.Listen("tcp", endpoint)
	if err != nil {
		return err
	}
	for {
		c, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			requests, answers := json.NewDecoder(bufio.NewReader(c)), json.NewEncoder(c)
			for r := (replicaRecord{}); requests.Decode(&r) == nil; r = (replicaRecord{}) {
				mu.Lock()
				if r.Version > 0 {
					put(r)
					_ = json.NewEncoder(log).Encode(r) // the disk may be full, or gone: the others have it
				}
				answer := records[string(r.Key)]
				mu.Unlock()
				if answers.Encode(answer) != nil {
					return
				}
			}
		}()
	}
}

func replicaProgram(how string) server.Program {
	return server.Program{
		Driver: "replicas", Binaries: []string{os.Args[0]}, VersionArguments: []string{asReplica, "--version"}, Packages: []string{"none"},
		Several: server.Cluster, Asked: func(*server.Instance) map[string]string { return nil },
		Command: func(i *server.Instance) (arguments, environment []string) {
			return []string{asReplica, how, i.Endpoint()}, nil
		},
		Ready: func(ctx context.Context, i *server.Instance) error {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", i.Endpoint())
			if err != nil {
				return err
			}
			return c.Close()
		},
		Settings: func(context.Context, *server.Instance) (map[string]string, error) { return nil, nil },
		Class:    func(store.Durability) (map[string]string, bool) { return nil, true },
	}
}

// What the client had been told is held against what the other servers have. That the one whose power was
// cut does not start again is reported separately, unless no other server has its records.
//
// Fault (physics): a store of several servers claims that two have a write, and acknowledges what
// one has
// Assay: refuted by `assay crash --one-node`, which asks the others. A server that does not start
// again is reported separately
func TestKillOfOneReplicaIsAskedOfTheOthers(t *testing.T) {
	lost := func(t *testing.T, driver replicas, how string, class store.Durability, cuts int) Result {
		target, o := serverTarget(t, driver, replicaProgram(how), class, Power, cuts)
		target.Store.Server.Count, o.OneNode, o.FirstOnly = replicaCount, true, true
		r := tested(t, target, o)
		for _, cut := range r.Cuts {
			t.Logf("cut %d: %+v", cut.Number, cut.Return)
		}
		return r
	}
	t.Run("a record that two of three have is there without one", func(t *testing.T) {
		r := lost(t, ackedByTwo, keepsStarting, store.D4, 3)
		if back := r.Back(); r.State != Kept || len(r.Cuts) != 3 || back == nil || back.Tried != 3 ||
			back.NotBack != 0 {
			t.Errorf("it is %s after %d cuts: %s; %+v", r.State, len(r.Cuts), r.Why, back)
		}
	})
	t.Run("one that does not start again takes no record with it", func(t *testing.T) {
		r := lost(t, ackedByTwo, startsOnce, store.D4, 2)
		if back := r.Back(); r.State != Kept || len(r.Cuts) != 2 || back == nil || back.NotBack != 2 || !strings.Contains(back.First.Return.Why, "log descriptor") {
			t.Errorf("it is %s after %d cuts: %s; %+v", r.State, len(r.Cuts), r.Why, back)
		}
	})
	t.Run("one that does not start again, within a time that was asked for", func(t *testing.T) {
		target, o := serverTarget(t, ackedByTwo, replicaProgram(startsOnce), store.D4, Power, 1)
		target.Store.Server.Count, o.OneNode, o.OpenMax = replicaCount, true, time.Hour
		if r := tested(t, target, o); r.State != Refuted {
			t.Errorf("it is %s: %s", r.State, r.Why)
		}
	})
	t.Run("one that alone has records, as far as is promised, does not start again", func(t *testing.T) {
		if r := lost(t, ackedByTwo, startsOnce, store.D3, 1); r.State != Refuted || !strings.Contains(r.Why, "does not start again") {
			t.Errorf("it is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
		}
	})
	t.Run("a store that acknowledges what one has loses it with that one", func(t *testing.T) {
		if r := lost(t, ackedByOne, startsOnce, store.D4, 50); r.State != Refuted || !strings.Contains(r.Why, "lost") {
			t.Errorf("it is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
		}
	})
}
