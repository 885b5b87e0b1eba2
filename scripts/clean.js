import { readdirSync, rmSync } from 'node:fs'

const packages = readdirSync(new URL('../packages', import.meta.url))
for (const folder of ['../dist', '../build', ...packages.map((name) => `../packages/${name}/dist`)])
  rmSync(new URL(folder, import.meta.url), { recursive: true, force: true })
// Where there is one it is believed, also while the next one is made.
rmSync(new URL('../oclif.manifest.json', import.meta.url), { force: true })
