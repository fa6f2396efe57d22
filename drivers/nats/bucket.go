package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/store"
)

// mark is the description of a bucket that Assay made: it writes to no other, and deletes no other.
const mark = "made by Assay"

// bucketName names a bucket for each storage, which can't be changed.
func bucketName(name string, class store.Durability) string {
	if class == store.D0 {
		return name + "_memory"
	}
	return name + "_file"
}

// present is the subject at which each open store of a bucket answers.
func (d *db) present() string { return "assay.present." + d.bucket }

// openBucket makes the bucket if it is not there, and deletes it first if it is to be emptied.
func (d *db) openBucket(ctx context.Context, flush bool) error {
	js, err := jetstream.New(d.control)
	if err != nil {
		return failure("open JetStream", err)
	}
	there, err := d.recognise(ctx, js)
	if err != nil {
		return err
	}
	if there && flush {
		if used, err := d.used(ctx); err != nil || used {
			return errors.Join(err, fmt.Errorf("flush_at_open: another Assay uses bucket %s: %w",
				d.bucket, store.ErrRefused))
		}
		if err := js.DeleteKeyValue(ctx, d.bucket); err != nil {
			return failure("delete the bucket", err)
		}
		there = false
	}
	// This client answers before the bucket is there, so that another one that closes does not delete it.
	if d.presence, err = d.control.Subscribe(d.present(),
		func(m *nats.Msg) { _ = m.Respond(nil) }); err != nil {
		return failure("subscribe", err)
	}
	if !there {
		if err := d.create(ctx, js); err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
			return failure("make the bucket", err)
		}
	}
	d.stream, err = js.Stream(ctx, streamOf(d.bucket))
	return failure("open the bucket", err)
}

// create makes the bucket. When an account's last stream is deleted, the server removes the account's
// empty folders a moment later, also under a stream that is being made meanwhile: so it is asked
// again.
func (d *db) create(ctx context.Context, js jetstream.JetStream) error {
	config := jetstream.KeyValueConfig{Bucket: d.bucket, Description: mark, Storage: jetstream.FileStorage}
	if d.class == store.D0 {
		config.Storage = jetstream.MemoryStorage
	}
	for wait := time.Millisecond; ; wait *= 4 {
		_, err := js.CreateKeyValue(ctx, config)
		var told *jetstream.APIError
		if !errors.As(err, &told) || told.ErrorCode != notCreated || wait > time.Second {
			return err
		}
		time.Sleep(wait)
	}
}

// allowTTL lets the bucket's messages have an end, once: a bucket without such records is as NATS makes
// it.
func (d *db) allowTTL(ctx context.Context) error {
	d.allowing.Do(func() {
		js, err := jetstream.New(d.control)
		if err == nil {
			config := d.stream.CachedInfo().Config
			config.AllowMsgTTL = true
			_, err = js.UpdateStream(ctx, config)
		}
		d.allowed = failure("let the bucket's messages have a TTL", err)
	})
	return d.allowed
}

// notCreated is the server's code for a stream that it could not make, its files among other causes.
const notCreated = 10049

func streamOf(bucket string) string { return "KV_" + bucket }

// recognise looks for the bucket, and refuses one that Assay did not make or that does not give
// the class.
func (d *db) recognise(ctx context.Context, js jetstream.JetStream) (there bool, err error) {
	stream, err := js.Stream(ctx, streamOf(d.bucket))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	if err != nil {
		return false, failure("look for the bucket", err)
	}
	info := stream.CachedInfo()
	d.held = info.State.Msgs
	if info.Config.Description != mark {
		return true, fmt.Errorf("bucket %s is there, and Assay did not make it: option bucket names "+
			"another: %w", d.bucket, store.ErrRefused)
	}
	c, inMemory := info.Config, info.Config.Storage == jetstream.MemoryStorage
	if inMemory != (d.class == store.D0) || c.PersistMode != jetstream.DefaultPersistMode {
		return true, fmt.Errorf("bucket %s was changed: storage %v, persist mode %v: %w", d.bucket,
			c.Storage, c.PersistMode, store.ErrRefused)
	}
	return true, nil
}

// used reports whether another store has the bucket open.
func (d *db) used(ctx context.Context) (bool, error) {
	_, err := d.control.RequestWithContext(ctx, d.present(), nil)
	if errors.Is(err, nats.ErrNoResponders) {
		return false, nil
	}
	return err == nil, failure("ask for other users of the bucket", err)
}

// leaveBucket deletes the bucket if it holds no key and no other store has it open.
func (d *db) leaveBucket(ctx context.Context) error {
	if err := errors.Join(d.presence.Unsubscribe(), d.control.FlushWithContext(ctx)); err != nil {
		return failure("leave the bucket", err)
	}
	if used, err := d.used(ctx); err != nil || used {
		return err
	}
	js, err := jetstream.New(d.control)
	if err != nil {
		return failure("open JetStream", err)
	}
	bucket, err := js.KeyValue(ctx, d.bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	if err != nil {
		return failure("look for the bucket", err)
	}
	if empty, err := isEmpty(ctx, bucket); err != nil || !empty {
		return err
	}
	err = js.DeleteKeyValue(ctx, d.bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	return failure("delete the bucket", err)
}

// isEmpty waits for the first key that was not deleted, or for the end of the keys.
func isEmpty(ctx context.Context, bucket jetstream.KeyValue) (bool, error) {
	keys, err := bucket.WatchAll(ctx, jetstream.IgnoreDeletes(), jetstream.MetaOnly())
	if err != nil {
		return false, failure("list keys", err)
	}
	var first jetstream.KeyValueEntry
	select {
	case first = <-keys.Updates():
	case <-ctx.Done():
		return false, failure("list keys", errors.Join(ctx.Err(), keys.Stop()))
	}
	err = keys.Stop()
	for range keys.Updates() { // the client waits until each is taken
	}
	return first == nil, failure("list keys", err)
}
