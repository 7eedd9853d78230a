PROBES = ()
