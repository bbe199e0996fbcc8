// The seed of random inputs: a run is as any other, and fails for a change only. VITE_SEED tries other inputs.

import fc from "fast-check";

const { VITE_SEED: seed = "1" } = import.meta.env as { VITE_SEED?: string };
fc.configureGlobal({ seed: Number(seed) });
