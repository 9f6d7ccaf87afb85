module noisy_means

go 1.19
