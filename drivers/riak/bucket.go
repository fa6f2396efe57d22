package riak

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"assay/store"
)

// bucketName is the bucket of Assay's own. One with other properties than the server's has them in
// its name, so that experiments do not meet each other's.
const bucketName = "assay"

// property is one of a bucket.
type property struct {
	name   string
	number protowire.Number
	kind   propertyKind
}

type propertyKind int

const (
	countKind propertyKind = iota
	boolKind
	quorumKind
	textKind
)

// properties are those of RpbBucketProps that have a say in what is measured. The first three are
// options.
var properties = []property{
	{"n_val", 1, countKind}, {"allow_mult", 2, boolKind}, {"last_write_wins", 3, boolKind},
	{"pr", 14, quorumKind}, {"r", 15, quorumKind}, {"w", 16, quorumKind}, {"pw", 17, quorumKind},
	{"dw", 18, quorumKind}, {"rw", 19, quorumKind}, {"basic_quorum", 20, boolKind},
	{"notfound_ok", 21, boolKind}, {"backend", 22, textKind}, {"consistent", 27, boolKind},
	{"write_once", 28, boolKind},
}

// wantedProperties are those that the options ask for, in the protocol's form and order.
type wantedProperties struct {
	names, values []string
	message       []byte
}

func readProperties(o store.Options) (w wantedProperties, err error) {
	if n := o.Int("n_val"); n < 0 || n > replicasMax {
		return w, fmt.Errorf("riak: n_val is %d, expected 1 to %d, or 0 for the server's own: %w", n,
			replicasMax, store.ErrRefused)
	} else if n > 0 {
		w.add(properties[0], strconv.Itoa(n), uint64(n))
	}
	for _, p := range properties[1:3] {
		if value := o.Choice(p.name); value != serversOwn {
			w.add(p, value, protowire.EncodeBool(value == "true"))
		}
	}
	if o.Choice("allow_mult") == "true" && o.Choice("last_write_wins") == "true" {
		return w, fmt.Errorf("riak: allow_mult keeps what last_write_wins drops: expected one of them: %w",
			store.ErrRefused)
	}
	return w, nil
}

func (w *wantedProperties) add(p property, text string, value uint64) {
	w.names, w.values = append(w.names, p.name), append(w.values, text)
	w.message = appendNumber(w.message, p.number, value)
}

// bucket is the name of the bucket with these properties.
func (w *wantedProperties) bucket() string {
	name := bucketName
	for i := range w.names {
		name += "-" + w.names[i] + "=" + w.values[i]
	}
	return name
}

func (w *wantedProperties) met(told map[string]string) bool {
	for i, name := range w.names {
		if told[name] != w.values[i] {
			return false
		}
	}
	return true
}

// bucketProperties asks a node for the bucket's properties.
func (c *connection) bucketProperties(bucket string) (map[string]string, error) {
	const doing = "get bucket properties"
	r := appendString(appendHead(c.Request, getBucketRequest), bucketField, bucket)
	message, err := c.ask(doing, r, getBucketResponse)
	if err != nil {
		return nil, err
	}
	props, _, err := parseTwo(message)
	if err != nil || props.bytes == nil {
		return nil, c.malformed(doing)
	}
	told := map[string]string{}
	for rest := props.bytes; len(rest) > 0; {
		var f field
		if f, rest, err = nextField(rest); err != nil {
			return nil, c.malformed(doing)
		}
		for _, p := range properties {
			if p.number == f.number {
				told[p.name] = p.text(f)
			}
		}
	}
	return told, nil
}

func (p property) text(f field) string {
	switch p.kind {
	case boolKind:
		return strconv.FormatBool(f.value != 0)
	case quorumKind:
		return quorum(f.value).String()
	case textKind:
		return string(f.bytes)
	}
	return strconv.FormatUint(f.value, 10)
}

// gossipPatience is how long a bucket's properties may take to reach all nodes.
const gossipPatience = 20 * time.Second

// openBucket gives the bucket its properties, and waits until each node tells them.
func (d *db) openBucket(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, gossipPatience)
	defer cancel()
	for i := range d.nodes {
		c := &d.nodes[i].control
		for {
			told, err := c.bucketProperties(d.bucket)
			if err != nil {
				return err
			}
			if d.wanted.met(told) {
				d.properties = told
				break
			}
			if err := d.setBucket(); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("riak at %s: the bucket did not take its properties: it has %v, and %v was "+
					"asked for: %w", d.nodes[i].endpoint, told, d.bucket, ctx.Err())
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

// setBucket sets the properties by the first node, once.
func (d *db) setBucket() error {
	if d.madeBucket {
		return nil
	}
	c := &d.nodes[0].control
	r := appendString(appendHead(c.Request, setBucketRequest), bucketField, d.bucket)
	_, err := c.ask("set bucket properties", appendBytes(r, bucketPropsField, d.wanted.message),
		setBucketResponse)
	d.madeBucket = err == nil
	return err
}

// leaveBucket takes back the properties that this store has set, by the first node that answers.
func (d *db) leaveBucket() error {
	if !d.madeBucket {
		return nil
	}
	var failed error
	for i := range d.nodes {
		c := &d.nodes[i].control
		r := appendString(appendHead(c.Request, resetBucketRequest), bucketField, d.bucket)
		if _, err := c.ask("reset bucket properties", r, resetBucketResponse); err == nil {
			return nil
		} else if failed == nil {
			failed = err
		}
	}
	return fmt.Errorf("bucket %s keeps its properties: %w", d.bucket, failed)
}

// replicas is the bucket's n_val, as the server reports it.
func (d *db) replicas() (int, error) {
	n, err := strconv.Atoi(d.properties["n_val"])
	if err != nil || n < 1 {
		return 0, fmt.Errorf("riak at %s reports n_val %q of its bucket", d.nodes[0].endpoint,
			d.properties["n_val"])
	}
	return n, nil
}
