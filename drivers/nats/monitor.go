package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"assay/internal/base/bounded"
	"assay/store"
)

// varzSubject is asked for the server's own numbers. Its system account alone may, and whom it
// exports the subject to.
const varzSubject = "$SYS.REQ.SERVER.PING.VARZ"

// varz is what Assay reads of Varz (server/monitor.go).
type varz struct {
	Version          string  `json:"version"`
	Port             int     `json:"port"`
	MaxPayload       int64   `json:"max_payload"`
	MaxConnections   int     `json:"max_connections"`
	GoMaxProcs       int     `json:"gomaxprocs"`
	Connections      float64 `json:"connections"`
	TotalConnections float64 `json:"total_connections"`
	Memory           float64 `json:"mem"`
	Subscriptions    float64 `json:"subscriptions"`
	SlowConsumers    float64 `json:"slow_consumers"`
	StalledClients   float64 `json:"stalled_clients"`
	ReceivedMessages float64 `json:"in_client_msgs"`
	ReceivedBytes    float64 `json:"in_client_bytes"`
	SentMessages     float64 `json:"out_client_msgs"`
	SentBytes        float64 `json:"out_client_bytes"`
	JetStream        struct {
		Config *struct { // nil: JetStream is not enabled
			MaxMemory    int64         `json:"max_memory"`
			MaxFile      int64         `json:"max_storage"`
			Directory    string        `json:"store_dir"`
			SyncInterval time.Duration `json:"sync_interval"`
			SyncAlways   bool          `json:"sync_always"`
		} `json:"config"`
		Stats struct {
			Memory float64 `json:"memory"`
			File   float64 `json:"storage"`
			API    struct {
				Total    float64 `json:"total"`
				Errors   float64 `json:"errors"`
				Inflight float64 `json:"inflight"`
			} `json:"api"`
		} `json:"stats"`
	} `json:"jetstream"`
}

// settings are what decides what a figure means, by the names of the server's configuration file.
func (s varz) settings() map[string]string {
	settings := map[string]string{
		"version": s.Version, "port": strconv.Itoa(s.Port),
		"max_payload":     strconv.FormatInt(s.MaxPayload, 10),
		"max_connections": strconv.Itoa(s.MaxConnections), "gomaxprocs": strconv.Itoa(s.GoMaxProcs),
	}
	if c := s.JetStream.Config; c != nil {
		settings["store_dir"] = c.Directory
		settings["max_memory_store"] = strconv.FormatInt(c.MaxMemory, 10)
		settings["max_file_store"] = strconv.FormatInt(c.MaxFile, 10)
		settings["sync_interval"] = c.SyncInterval.String()
		if c.SyncAlways {
			settings["sync_interval"] = syncAlways
		}
	}
	return settings
}

// askServer asks over the way that the experiment names.
func (d *db) askServer(ctx context.Context) (varz, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	if d.monitoring != "" {
		return askHTTP(ctx, d.monitoring)
	}
	return ask(ctx, d.control)
}

// ask asks a server over NATS.
func ask(ctx context.Context, c *nats.Conn) (varz, error) {
	var told struct {
		Data  *varz           `json:"data"`
		Error json.RawMessage `json:"error"`
	}
	answer, err := c.RequestWithContext(ctx, varzSubject, nil)
	if err != nil {
		return varz{}, failure("ask for its numbers", err)
	}
	if err := json.Unmarshal(answer.Data, &told); err != nil {
		return varz{}, fmt.Errorf("nats: ask for its numbers: %w", err)
	}
	if told.Data == nil {
		return varz{}, errors.New("nats: ask for its numbers: it reported none")
	}
	return *told.Data, nil
}

func askHTTP(ctx context.Context, endpoint string) (told varz, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+endpoint+"/varz", nil)
	if err != nil {
		return told, fmt.Errorf("nats: monitoring: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return told, failure("monitoring", errors.Unwrap(err))
	}
	text, err := bounded.Read(response.Body, 16<<20)
	if err = errors.Join(err, response.Body.Close()); err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	if err == nil {
		err = json.Unmarshal(text, &told)
	}
	if err != nil {
		return told, fmt.Errorf("nats: monitoring: %w", err)
	}
	return told, nil
}

// Settings are those of the opening: they do not change while it is open.
func (d *db) Settings() map[string]string {
	settings := map[string]string{"version": d.control.ConnectedServerVersion(),
		"max_payload": strconv.FormatInt(d.control.MaxPayload(), 10)}
	if d.told {
		settings = d.server.settings()
	}
	config := d.stream.CachedInfo().Config
	settings["bucket"], settings["bucket.storage"] = d.bucket, config.Storage.String()
	settings["bucket.replicas"] = strconv.Itoa(config.Replicas)
	settings["driver.operation_timeout"] = d.timeout.String()
	return settings
}

// Inspect returns the bucket's numbers, and the server's where it told them at the opening.
func (d *db) Inspect() store.Inspection {
	ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
	defer cancel()
	stats := map[string]float64{"reconnects": float64(d.reconnects.Load())}
	if info, err := d.stream.Info(ctx); err == nil {
		stats["messages"] = float64(info.State.Msgs) // delete markers too
		stats["bucket_bytes"] = float64(info.State.Bytes)
	}
	if !d.told {
		return store.Inspection{Stats: stats}
	}
	s, err := d.askServer(ctx)
	if err != nil {
		return store.Inspection{Stats: stats}
	}
	for name, value := range map[string]float64{
		"connections": s.Connections, "connections_total": s.TotalConnections, "resident_bytes": s.Memory,
		"subscriptions": s.Subscriptions, "slow_consumers": s.SlowConsumers,
		"stalled_clients":   s.StalledClients,
		"received_messages": s.ReceivedMessages, "received_bytes": s.ReceivedBytes,
		"sent_messages": s.SentMessages, "sent_bytes": s.SentBytes,
		"memory_storage_bytes": s.JetStream.Stats.Memory, "file_bytes": s.JetStream.Stats.File,
		"api_requests": s.JetStream.Stats.API.Total, "api_errors": s.JetStream.Stats.API.Errors,
		"api_in_flight": s.JetStream.Stats.API.Inflight,
	} {
		stats[name] = value
	}
	return store.Inspection{Stats: stats}
}
