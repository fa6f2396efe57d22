package verdict

// course is what one phase of one trial did over time. It becomes analyze.Series and analyze.Shape.
type course struct{}
