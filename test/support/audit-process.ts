// A process that appends lines to an audit file, beside another one.
// node --import=tsx audit-process.ts <file> <name> <name of the other> <count> <max bytes>
import { existsSync, writeFileSync } from 'node:fs'
import { AuditFile } from '../../src/audit/audit-file.ts'

const [, , path = '', name = '', other = '', count = '', maxBytes = ''] = process.argv
const file = new AuditFile(path, Number(maxBytes))
const ready = (of: string) => `${path}-is-open-${of}`
writeFileSync(ready(name), '')
while (!existsSync(ready(other)));
for (let number = 0; number < Number(count); number++)
  file.append(JSON.stringify({ name, number, pad: 'x'.repeat(200) }))
