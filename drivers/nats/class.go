package nats

import (
	"context"
	"errors"
	"fmt"

	"assay/store"
)

// The classes follow nats-server v2.15.2, for a stream of one replica, which a bucket of Assay is:
//
//   - Reply: processJetStreamMsg in server/stream.go sends it after StoreMsg has returned.
//   - File storage: newStoreMsg in server/filestore.go ends in writeMsgRecordLocked, which calls
//     flushPendingMsgsLocked (write(2)) before it returns, since AsyncFlush is for streams with
//     replicas and for persist mode async alone (setupStore in server/stream.go).
//   - sync_interval always: flushPendingMsgsLocked calls fsync(2) of the block's file before it
//     returns. A new block's directory is not synced then: its entry comes with the fsync(2) of the
//     file where the file system does that, as ext4, XFS and btrfs do. The file that describes the
//     bucket is synced with its directory (writeAtomically).
//   - sync_interval of a time: syncBlocks runs once in that time and syncs all blocks that were
//     written since. Nothing bounds how long it takes, and nothing tells that it failed, which makes
//     it D1 and no D2.

// TellDurability asks for sync_interval again. The server counts no syncs.
func (d *db) TellDurability() (store.DurabilityEvidence, error) {
	if d.class == store.D0 {
		return store.DurabilityEvidence{}, nil
	}
	told, err := d.askServer(context.Background())
	if err != nil {
		return store.DurabilityEvidence{}, err
	}
	d.server = told
	return store.Evidence(d.refuseClass(nil))
}

// refuseClass says why the server can't give the class, and what would; unasked is why it could not
// be asked for its settings.
func (d *db) refuseClass(unasked error) error {
	switch {
	case d.class == store.D0:
		return nil // the bucket's storage alone decides
	case unasked != nil:
		return fmt.Errorf("it does not tell if it syncs, which decides if it gives %s: %w: %w\n"+
			"option monitoring names its HTTP monitoring; or its system account exports %s, and the "+
			"user's account imports it",
			d.class, store.ErrRefused, unasked, varzSubject)
	case d.server.JetStream.Config == nil:
		return errors.Join(errors.New("JetStream is not enabled"), store.ErrRefused)
	case d.class == store.D3 && !d.server.JetStream.Config.SyncAlways:
		return fmt.Errorf("it can't reach D3: it syncs once in %v, which gives D1; sync_interval: "+
			"always would: %w", d.server.JetStream.Config.SyncInterval, store.ErrRefused)
	case d.class == store.D1 && d.server.JetStream.Config.SyncAlways:
		return fmt.Errorf("it can't be measured at D1: its sync_interval is always, which gives D3; "+
			"sync_interval: 2m would: %w", store.ErrRefused)
	}
	return nil
}
