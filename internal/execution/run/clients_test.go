package run

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"
)

func TestClients(t *testing.T) {
	cs := &clients{ctx: context.Background(), timeout: time.Minute}
	for _, threads := range []int{4, 4, 2} {
		if err := cs.start(nil, []string{"cat"}, threads, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if _, layout := cs.readers(3, 7); !slices.Equal(layout, []int{3, 3, 1}) {
		t.Errorf("7 readers, at most 3 of each client: %v", layout)
	}
	cs.all[0].gone = errors.New("it died")
	if threads, layout := cs.readers(3, 100); threads != 5 || !slices.Equal(layout, []int{3, 2}) {
		t.Errorf("without the first client: %d in %v", threads, layout)
	}
	if cs.first() != cs.all[1] || len(cs.living()) != 2 || len(cs.pids()) != 3 {
		t.Errorf("%d live, the first is %d", len(cs.living()), cs.first().number)
	}
	second := errors.New("no")
	err := cs.inParallel(cs.all, func(c *client) error {
		if c.number == 1 {
			return second
		}
		return nil
	})
	if !errors.Is(err, second) || err.Error() != "process 2 of 3: no" {
		t.Errorf("got %v", err)
	}
	if left, err := cs.end(); left != 0 || err != nil {
		t.Errorf("%d left, %v", left, err)
	}
}
