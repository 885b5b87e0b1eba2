import { expect } from 'chai'
import Database from 'libsql'
import { inTransaction } from '../../../src/trace/run-index/in-transaction.ts'

describe('inTransaction', () => {
  it('tells of a full disk, on which the database ends the transaction itself, and works again after it', () => {
    const db = new Database(':memory:')
    db.exec('CREATE TABLE texts (text TEXT)')
    db.exec('PRAGMA max_page_count = 4')
    const insert = (text: string) =>
      inTransaction(db, () => void db.prepare('INSERT INTO texts VALUES (?)').run([text]))
    expect(() => insert('a'.repeat(100_000))).to.throw('full')
    insert('b')
    expect(db.prepare('SELECT text FROM texts').all([])).to.deep.equal([{ text: 'b' }])
    db.close()
  })
})
