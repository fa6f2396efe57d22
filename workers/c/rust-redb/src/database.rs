//! The store in redb's own terms: one transaction for each operation, one table of bytes under bytes.

use std::path::{Path, PathBuf};

use redb::{
    Builder, Database, Durability, Error, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    Table, TableDefinition,
};

const RECORDS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");

pub struct Store {
    database: Database,
    path: PathBuf,
    durability: Durability,
    pub cache_bytes: usize,
}

/// How a write that looks first has ended.
pub enum Outcome {
    Done,
    Miss,
    Conflict,
}

impl Store {
    pub fn open(path: &Path, durability: Durability, cache_bytes: usize) -> Result<Store, Error> {
        let database = Builder::new().set_cache_size(cache_bytes).create(path)?;
        let store = Store {
            database,
            path: path.to_owned(),
            durability,
            cache_bytes,
        };
        // a read transaction can't make the table; durable, so that a killed D0 store is empty and
        // not broken
        store.commit(Durability::Immediate, |_| Ok(Outcome::Done))?;
        Ok(store)
    }

    pub fn is_durable(&self) -> bool {
        matches!(self.durability, Durability::Immediate)
    }

    /// Calls `found` with the value of the key, which stands only as long as the transaction does.
    pub fn get<R>(&self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Error> {
        let table = self.database.begin_read()?.open_table(RECORDS)?;
        Ok(table.get(key)?.map(|value| found(value.value())))
    }

    /// Calls `visit` for each record from `start` on, until it returns false.
    pub fn scan(
        &self,
        start: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Error> {
        let table = self.database.begin_read()?.open_table(RECORDS)?;
        for record in table.range(start..)? {
            let (key, value) = record?;
            if !visit(key.value(), value.value()) {
                break;
            }
        }
        Ok(())
    }

    /// Does `change` in one write transaction, which is given up unless it is `Done`.
    pub fn write(
        &self,
        change: impl FnOnce(&mut Table<&'static [u8], &'static [u8]>) -> Result<Outcome, Error>,
    ) -> Result<Outcome, Error> {
        self.commit(self.durability, change)
    }

    fn commit(
        &self,
        durability: Durability,
        change: impl FnOnce(&mut Table<&'static [u8], &'static [u8]>) -> Result<Outcome, Error>,
    ) -> Result<Outcome, Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability)?;
        let outcome = change(&mut transaction.open_table(RECORDS)?)?;
        match outcome {
            Outcome::Done => transaction.commit()?,
            Outcome::Miss | Outcome::Conflict => transaction.abort()?,
        }
        Ok(outcome)
    }

    /// `Durability::None` is persisted by the next commit with `Durability::Immediate`: that is what redb documents.
    pub fn sync(&self) -> Result<(), Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        Ok(transaction.commit()?)
    }

    pub fn records(&self) -> Result<u64, Error> {
        Ok(self.database.begin_read()?.open_table(RECORDS)?.len()?)
    }

    pub fn file_bytes(&self) -> std::io::Result<u64> {
        Ok(self.path.metadata()?.len())
    }
}

/// Stores the value if the key is absent.
pub fn add(
    table: &mut Table<&'static [u8], &'static [u8]>,
    key: &[u8],
    value: &[u8],
) -> Result<Outcome, Error> {
    if table.get(key)?.is_some() {
        return Ok(Outcome::Conflict);
    }
    table.insert(key, value)?;
    Ok(Outcome::Done)
}

/// Stores the value if the key has the old one.
pub fn compare_and_swap(
    table: &mut Table<&'static [u8], &'static [u8]>,
    key: &[u8],
    old: &[u8],
    value: &[u8],
) -> Result<Outcome, Error> {
    match table.get(key)?.map(|found| found.value() == old) {
        None => return Ok(Outcome::Miss),
        Some(false) => return Ok(Outcome::Conflict),
        Some(true) => {}
    }
    table.insert(key, value)?;
    Ok(Outcome::Done)
}

pub fn remove(
    table: &mut Table<&'static [u8], &'static [u8]>,
    key: &[u8],
) -> Result<Outcome, Error> {
    Ok(match table.remove(key)? {
        Some(_) => Outcome::Done,
        None => Outcome::Miss,
    })
}

/// An error in words that are the same each time: texts are counted, and redb's name lengths and pages.
pub fn words(error: &Error) -> String {
    match error {
        Error::Io(io) => io.to_string(),
        Error::Corrupted(_) => "redb: the file is damaged".into(),
        Error::ValueTooLarge(_) => "redb: key and value are longer than it takes".into(),
        other => other.to_string(),
    }
}
