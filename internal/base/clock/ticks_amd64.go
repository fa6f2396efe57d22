package clock

const haveTicks = true

// ticks reads the time-stamp counter. It does not wait for earlier instructions: a store's call
// ends in a return and loads of its result, which hold it back by more than the few ns that could
// slip past.
func ticks() uint64
