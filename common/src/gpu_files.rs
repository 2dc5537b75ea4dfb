//! NVIDIA GPUs according to files of this machine, without a tensor library: the GPUs that this process may use, the driver,
//! and GPUs that no driver serves.

use std::fs;
use std::path::Path;

/// GPUs and driver of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuFiles {
    /// Set if the driver shows a GPU that this process may open.
    pub usable: bool,
    /// Set if the driver is there.
    pub driver: bool,
    /// NVIDIA GPUs on the PCI bus, which a container without them shows as well.
    pub on_bus: usize,
}

impl GpuFiles {
    /// Returns what this machine shows.
    pub fn here() -> Self {
        Self::below(Path::new("/"))
    }

    /// Returns what the file tree below `root` shows.
    fn below(root: &Path) -> Self {
        let numbered = (0..64).map(|number| format!("dev/nvidia{number}"));
        // A device file that a control group denies is another job's GPU.
        let usable = numbered.chain(["dev/dxg".to_owned()]).any(|path| fs::File::open(root.join(path)).is_ok());
        let driver = ["dev/nvidiactl", "dev/dxg"].iter().any(|path| root.join(path).exists());
        let devices = fs::read_dir(root.join("sys/bus/pci/devices")).into_iter().flatten().flatten();
        let reads = |path: &Path, prefix: &str| fs::read_to_string(path).is_ok_and(|text| text.starts_with(prefix));
        // Display controllers of NVIDIA's.
        let gpus = devices.filter(|entry| {
            let folder = entry.path();
            reads(&folder.join("vendor"), "0x10de") && reads(&folder.join("class"), "0x03")
        });
        Self { usable, driver, on_bus: gpus.count() }
    }

    /// Describes GPUs that no driver serves here, with a remedy; `None` without any.
    pub fn no_driver(&self) -> Option<String> {
        let lacks_driver = !self.usable && !self.driver && self.on_bus > 0;
        lacks_driver.then(|| {
            format!(
                "this machine has {} NVIDIA GPUs on its bus and no driver for them; help: install NVIDIA's driver 580 or newer; \
                 a container must be given them: `docker run --gpus all`, `apptainer run --nv`",
                self.on_bus
            )
        })
    }

    /// Describes the lack of a GPU here, with the reason if GPUs are on the bus.
    pub fn none_shown(&self) -> String {
        let why = self.no_driver().map_or_else(String::new, |why| format!(": {why}"));
        format!("shows no NVIDIA GPU{why}")
    }
}

/// Returns whether the driver shows this process a GPU that it may open; a guess without a tensor library.
pub fn sees_gpu() -> bool {
    GpuFiles::here().usable
}

/// Returns whether a value of CUDA_VISIBLE_DEVICES hides every GPU; CUDA reads the list up to the first -1.
pub fn hides_all(visible: &str) -> bool {
    let first = visible.split(',').next().unwrap_or_default().trim();
    first.is_empty() || first.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> GpuFiles {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        GpuFiles::below(root.path())
    }

    const BUS: [(&str, &str); 6] = [
        ("sys/bus/pci/devices/0000:18:00.0/vendor", "0x10de\n"),
        ("sys/bus/pci/devices/0000:18:00.0/class", "0x030200\n"),
        // A sound device of NVIDIA's, and a display of another maker's.
        ("sys/bus/pci/devices/0000:18:00.1/vendor", "0x10de\n"),
        ("sys/bus/pci/devices/0000:18:00.1/class", "0x040300\n"),
        ("sys/bus/pci/devices/0000:03:00.0/vendor", "0x1a03\n"),
        ("sys/bus/pci/devices/0000:03:00.0/class", "0x030000\n"),
    ];

    #[test]
    fn machines_show_what_they_have() {
        assert_eq!(tree(&[]), GpuFiles::default());
        let node = tree(&[("dev/nvidiactl", ""), ("dev/nvidia1", ""), ("dev/nvidia-uvm", "")]);
        assert_eq!(node, GpuFiles { usable: true, driver: true, on_bus: 0 });
        let cpu_job = tree(&[("dev/nvidiactl", ""), BUS[0], BUS[1]]);
        assert_eq!(cpu_job, GpuFiles { usable: false, driver: true, on_bus: 1 });
        assert_eq!(cpu_job.no_driver(), None, "the driver is there, and shows this job none");
        assert_eq!(cpu_job.none_shown(), "shows no NVIDIA GPU");
        let wsl = tree(&[("dev/dxg", "")]);
        assert!(wsl.usable && wsl.driver);
    }

    #[test]
    fn gpus_without_a_driver_are_seen_on_the_bus() {
        let bare = tree(&BUS);
        assert_eq!(bare, GpuFiles { usable: false, driver: false, on_bus: 1 });
        let text = bare.no_driver().unwrap();
        assert!(text.contains("1 NVIDIA GPUs") && text.contains("; help: install NVIDIA's driver"), "{text}");
        assert_eq!(bare.none_shown(), format!("shows no NVIDIA GPU: {text}"));
    }

    #[test]
    fn lists_hide_all_as_cuda_reads_them() {
        for (list, hides) in
            [("", true), (" ", true), ("-1", true), ("-1,0", true), ("0,-1", false), ("GPU-8932", false)]
        {
            assert_eq!(hides_all(list), hides, "{list:?}");
        }
    }
}
