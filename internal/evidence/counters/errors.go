package counters

import (
	"encoding/binary"
	"strings"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"

	"assay/internal/experiment/trace"
)

// OtherMessages is the text of the place that collects what found none.
const OtherMessages = "other messages"

// Message is one distinct message and how often it came.
type Message struct {
	Count     uint64          `json:"count"`
	Operation trace.Operation `json:"operation"`
	Outcome   Outcome         `json:"outcome"`
	Text      string          `json:"text"`
}

func (f *File) errorPlace(thread, place int) []byte {
	at := f.threadAt(thread) + slotsAt + len(f.slots.Operations)*f.slotBytes + place*errorBytes
	return f.data[at : at+errorBytes]
}

// CountMessage counts a message in the thread's places. Only that thread calls it; it is off the
// fast path.
func (f *File) CountMessage(thread int, o trace.Operation, outcome Outcome, text string) {
	text = cut(strings.ToValidUTF8(text, "\uFFFD"))
	for place := range ErrorPlaces {
		p := f.errorPlace(thread, place)
		count := (*uint64)(unsafe.Pointer(&p[0]))
		if *count == 0 {
			if place == ErrorPlaces-1 {
				text = OtherMessages
			}
			binary.LittleEndian.PutUint32(p[8:], uint32(o))
			binary.LittleEndian.PutUint32(p[12:], uint32(outcome))
			binary.LittleEndian.PutUint32(p[16:], uint32(copy(p[20:], text)))
			atomic.StoreUint64(count, 1) // last: a reader that sees the count sees the text
			return
		}
		same := binary.LittleEndian.Uint32(p[8:]) == uint32(o) &&
			binary.LittleEndian.Uint32(p[12:]) == uint32(outcome) &&
			string(messageText(p)) == text
		if same || place == ErrorPlaces-1 {
			atomic.StoreUint64(count, *count+1)
			return
		}
	}
}

func cut(text string) string {
	if len(text) <= errorTextMax {
		return text
	}
	end := errorTextMax
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func messageText(place []byte) []byte {
	return place[20 : 20+min(binary.LittleEndian.Uint32(place[16:]), errorTextMax)]
}

// Messages returns the messages of all threads, equal ones added up, most frequent first.
func (f *File) Messages() []Message {
	type key struct {
		o       trace.Operation
		outcome Outcome
		text    string
	}
	sums := map[key]uint64{}
	for thread := range f.threads {
		for place := range ErrorPlaces {
			p := f.errorPlace(thread, place)
			n := atomic.LoadUint64((*uint64)(unsafe.Pointer(&p[0])))
			if n == 0 {
				break
			}
			sums[key{trace.Operation(p[8]), Outcome(p[12]), string(messageText(p))}] += n
		}
	}
	messages := make([]Message, 0, len(sums))
	for k, n := range sums {
		messages = append(messages, Message{Count: n, Operation: k.o, Outcome: min(max(k.outcome, 0), Outcomes-1),
			Text: k.text})
	}
	sortMessages(messages)
	return messages
}
