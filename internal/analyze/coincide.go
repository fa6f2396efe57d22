package analyze

// Coincidence is a resource that changed with the rate. It never says which brought which.
type Coincidence struct {
	Resource string `json:"resource"`
}

func coincide(s *Series, v view, shape *Shape) []Coincidence { return nil }
