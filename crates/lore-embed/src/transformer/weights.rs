//! Reads numbers from a file in the safetensors format: a header in JSON, then the tensors.

use std::{
    collections::HashMap,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
};

use ndarray::{Array1, Array2};
use serde::Deserialize;

/// No header is longer.
const LONGEST_HEADER: u64 = 16 << 20;

/// The tensors of a file.
pub(super) struct Weights {
    file: File,
    tensors: HashMap<String, Tensor>,
    /// Where the numbers begin, and how many bytes there are.
    begin: u64,
    bytes: u64,
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

impl Weights {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let shown = |error: std::io::Error| error.to_string();
        let mut file = File::open(path).map_err(shown)?;
        let length = file.metadata().map_err(shown)?.len();
        let mut size = [0; 8];
        file.read_exact(&mut size).map_err(shown)?;
        let size = u64::from_le_bytes(size);
        if size > LONGEST_HEADER || size + 8 > length {
            return Err("it is no safetensors file".to_owned());
        }
        let mut header = vec![0; usize::try_from(size).unwrap_or(0)];
        file.read_exact(&mut header).map_err(shown)?;
        let header: HashMap<String, serde_json::Value> =
            serde_json::from_slice(&header).map_err(|error| error.to_string())?;
        let read = |(name, value): (String, serde_json::Value)| Some((name, serde_json::from_value(value).ok()?));
        let tensors = header.into_iter().filter_map(read).collect();
        Ok(Self { file, tensors, begin: size + 8, bytes: length - size - 8 })
    }

    fn numbers(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let tensor = self.tensors.get(name).ok_or_else(|| format!("there is no {name}"))?;
        let count: usize = shape.iter().product();
        let [from, to] = tensor.data_offsets;
        let fits = tensor.dtype == "F32"
            && tensor.shape == shape
            && to <= self.bytes
            && to.checked_sub(from) == u64::try_from(count * 4).ok();
        if !fits {
            return Err(format!("{name} is not {shape:?} numbers of 32 bits"));
        }
        let shown = |error: std::io::Error| error.to_string();
        self.file.seek(SeekFrom::Start(self.begin + from)).map_err(shown)?;
        let mut bytes = vec![0; count * 4];
        self.file.read_exact(&mut bytes).map_err(shown)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number)).collect())
    }

    pub(super) fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Array2<f32>, String> {
        let numbers = self.numbers(name, &[rows, columns])?;
        Array2::from_shape_vec((rows, columns), numbers).map_err(|error| error.to_string())
    }

    pub(super) fn row(&mut self, name: &str, length: usize) -> Result<Array1<f32>, String> {
        Ok(self.numbers(name, &[length])?.into())
    }
}
