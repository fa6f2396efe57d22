package recording

// keyLengths counts lengths of keys, by the stretch of first sights that keys are in.
type keyLengths struct {
	cuts   []uint64
	counts []sizes
	least  int64 // 0: the recording has none
	most   int64
}

func (k *keyLengths) add(id uint32, bytes int64) {
	part := 0
	for part < len(k.cuts) && uint64(id) >= k.cuts[part] {
		part++
	}
	k.counts[part].add(bytes)
	if bytes > 0 && (k.least == 0 || bytes < k.least) {
		k.least = bytes
	}
	k.most = max(k.most, bytes)
}

// tell adds what they come to; nothing where the recording has none.
func (k *keyLengths) tell(s *Summary) {
	if k.most == 0 {
		return
	}
	var told sizes
	sum, keys, unknown := uint64(0), uint64(0), false
	for part := range k.counts {
		for b, n := range k.counts[part].counts {
			if b == 0 {
				unknown = unknown || n > 0
				continue
			}
			told.counts[b] += n
			told.sums[b] += k.counts[part].sums[b]
			sum, keys = sum+k.counts[part].sums[b], keys+n
		}
	}
	s.KeyBytesMin, s.KeyBytesMax, s.KeyBytesMean = int(k.least), int(k.most), float64(sum)/float64(keys)
	bytes, _ := told.classes(KeyLengthsMax)
	if unknown {
		bytes = append([]int{0}, bytes...)
	}
	for _, b := range bytes {
		s.KeyLengths = append(s.KeyLengths, KeyLength{b, make([]uint64, len(k.counts))})
	}
	for part := range k.counts {
		for i, n := range k.counts[part].by(bytes) {
			s.KeyLengths[i].Keys[part] = n
		}
	}
}
