package redis

// SlotOf is the slot of a key in a cluster.
func SlotOf(key []byte) int { return slotOf(key) }
