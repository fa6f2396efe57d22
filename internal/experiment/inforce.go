package experiment

// OptionsInForce returns the options of AllOptions, and those that are left at their default.
func (s Store) OptionsInForce() map[string]string {
	all := s.AllOptions()
	for _, o := range s.AllDeclared() {
		if _, given := all[o.Name]; !given && o.Default != "" {
			all[o.Name] = o.Default
		}
	}
	return all
}
