import { rmSync } from 'node:fs'

for (const folder of ['../dist', '../build']) rmSync(new URL(folder, import.meta.url), { recursive: true, force: true })
// Where there is one it is believed, also while the next one is made.
rmSync(new URL('../oclif.manifest.json', import.meta.url), { force: true })
