package record

// heldLines is series.jsonl with the samples for which the disk had no room: they wait in memory
// until the store's files are gone. It is not safe for concurrent use.
type heldLines struct {
	*lines
	held    []Sample // written before any later one
	missing uint64   // samples that could not be held either
	metFull bool
}

const samplesHeldMax = 1000 // a trial is stopped at the first one

// add appends a sample, or holds it and says that the disk is full.
func (l *heldLines) add(s Sample) error {
	err := l.flush()
	if err == nil {
		err = l.lines.add(s)
	}
	if IsFull(err) {
		l.metFull = true
		if len(l.held) < samplesHeldMax {
			l.held = append(l.held, s)
		} else {
			l.missing++
		}
	}
	return err
}

func (l *heldLines) flush() error {
	for len(l.held) > 0 {
		if err := l.lines.add(l.held[0]); err != nil {
			return err
		}
		l.held = l.held[1:]
	}
	return nil
}

// settle writes what is held, for the last time: what finds no room even now is missing.
func (l *heldLines) settle() error {
	err := l.flush()
	if IsFull(err) {
		l.missing, l.held = l.missing+uint64(len(l.held)), nil
		return nil
	}
	return err
}
