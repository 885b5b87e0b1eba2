// The last step of packing. A package that `npm publish` packs is in a registry from then on: projects that `init` creates depend on
// its version. Those of any other copy depend on that copy (src/project/create/own-dependency.ts).
import { writeFileSync } from 'node:fs'

if (process.env.npm_command === 'publish') writeFileSync(new URL('../dist/published', import.meta.url), '')
