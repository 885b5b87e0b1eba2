import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const folder = fileURLToPath(new URL('../../dist/ui', import.meta.url))
const sizeOf = (file: string) => statSync(join(folder, file)).size

describe('the page of the debug UI', () => {
  const files = readdirSync(folder, { recursive: true }).map(String)

  it('is under 185 KB compressed, all screens together', () => {
    const total = files.filter((file) => file.endsWith('.gz')).reduce((sum, file) => sum + sizeOf(file), 0)
    expect(total).within(50_000, 185_000)
  })

  it('needs less than 40 KB for its first paint', () => {
    const html = readFileSync(join(folder, 'index.html'), 'utf8')
    const first = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.(?:js|css))"/g)].map(([, file]) => `${file}.gz`)
    expect(first.length).greaterThan(1)
    expect(first.reduce((sum, file) => sum + sizeOf(file), 0)).within(10_000, 40_000)
  })
})
